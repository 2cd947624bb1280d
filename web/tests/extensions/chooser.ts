/** An extension that draws a list to choose from, which Escape closes, and a field that takes letters. */

interface Drawn {
  render(width: number): string[];
  handleInput(data: string): void;
  invalidate(): void;
}

interface Ui {
  custom<T>(make: (tui: { requestRender(): void }, theme: unknown, keys: unknown, done: (result: T) => void) => Drawn): Promise<T>;
  notify(text: string, level?: string): void;
}

interface Api {
  registerCommand(name: string, command: { description: string; handler: (words: string, context: { ui: Ui }) => Promise<void> }): void;
}

const ALL = ["red", "green", "blue"];

export default function chooser(pi: Api): void {
  pi.registerCommand("choose", {
    description: "Asks for a colour",
    handler: async (_, { ui }) => {
      const chosen = await ui.custom<string>((tui, _theme, _keys, done) => {
        let at = 0;
        let typed = "";
        return {
          render: () => [...ALL.map((name, index) => `${index === at ? ">" : " "} ${name}`), `typed: ${typed}`],
          handleInput(data) {
            if (data === "\u001b") {
              done("nothing");
            } else if (data === "\r") {
              done(`${ALL[at] ?? ""} ${typed}`);
            } else if (data === "\u001b[B") {
              at = Math.min(ALL.length - 1, at + 1);
            } else if (data === "\u001b[A") {
              at = Math.max(0, at - 1);
            } else if (data === "\u007f") {
              typed = typed.slice(0, -1);
            } else {
              typed += data;
            }
            tui.requestRender();
          },
          invalidate() {},
        };
      });
      ui.notify(`chosen: ${chosen}`, "warning");
    },
  });
}
