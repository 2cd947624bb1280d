/** An extension that asks a person in every way there is, and says what it was told. */

interface Ui {
  select(title: string, options: string[]): Promise<string | undefined>;
  confirm(title: string, message: string): Promise<boolean>;
  input(title: string, placeholder: string): Promise<string | undefined>;
  editor(title: string, prefill: string): Promise<string | undefined>;
  interview(form: { title: string; questions: object[] }): Promise<Record<string, unknown> | undefined>;
  custom<T>(make: (tui: { requestRender(): void }, theme: Theme, keys: unknown, done: (result: T) => void) => Drawn): Promise<T>;
  notify(text: string, level?: string): void;
  setStatus(key: string, text?: string): void;
  setWidget(key: string, lines?: string[]): void;
  setEditorText(text: string): void;
}

interface Theme {
  bold(text: string): string;
  fg(colour: string, text: string): string;
}

interface Drawn {
  render(width: number): string[];
  handleInput(data: string): void;
  invalidate(): void;
}

interface Api {
  registerCommand(name: string, command: { description: string; handler: (words: string, context: { ui: Ui }) => Promise<void> }): void;
}

const NAMES: Record<string, string> = { "\r": "enter", "\u001b[B": "down", "\u0003": "ctrl+c" };

export default function survey(pi: Api): void {
  pi.registerCommand("survey", {
    description: "Asks everything",
    handler: async (_, { ui }) => {
      const side = await ui.select("Which?", ["left", "right"]);
      const isSure = await ui.confirm("Sure?", "It costs.");
      const name = await ui.input("Name?", "a name");
      const text = await ui.editor("Text", "before");
      const form = await ui.interview({
        title: "About you",
        questions: [
          { id: "name", type: "text", label: "Your name", required: true },
          { id: "colour", type: "select", label: "Colour", options: ["red", "blue"] },
          { id: "tools", type: "multi", label: "Tools", options: ["saw", "axe"] },
          { id: "agreed", type: "confirm", label: "Agreed" },
        ],
      });
      ui.notify(JSON.stringify({ side, isSure, name, text, form }));
    },
  });
  pi.registerCommand("twins", {
    description: "Asks with answers that are the same",
    handler: async (_, { ui }) => {
      const one = await ui.select("Which twin?", ["same", "same", "other"]);
      const form = await ui.interview({ title: "Twins", questions: [{ id: "one", type: "select", label: "One", options: ["same", "same"] }] });
      ui.notify(JSON.stringify({ one, form }));
    },
  });
  pi.registerCommand("keys", {
    description: "Shows the keys that it gets, until Enter",
    handler: async (_, { ui }) => {
      const heard = await ui.custom<string[]>((tui, theme, _keys, done) => {
        const keys: string[] = [];
        return {
          render: () => [`${theme.bold("Keys:")} ${theme.fg("success", keys.join(" "))}`],
          handleInput(data) {
            keys.push(NAMES[data] ?? data);
            if (data === "\r") {
              done(keys);
            }
            tui.requestRender();
          },
          invalidate() {},
        };
      });
      ui.notify(`heard ${heard.join(" ")}`, "warning");
    },
  });
  pi.registerCommand("announce", {
    description: "Says things without asking",
    handler: async (_, { ui }) => {
      ui.notify("Careful now", "warning");
      ui.setStatus("branch", "main +2");
      ui.setWidget("w", ["a widget", "with lines"]);
      ui.setEditorText("from an extension");
    },
  });
}
