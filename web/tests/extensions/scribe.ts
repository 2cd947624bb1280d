/** An extension that writes in the editor of somebody who is about to press Enter. */

interface Ui {
  setEditorText(text: string): void;
}

interface Api {
  registerCommand(name: string, command: { description: string; handler: (words: string, context: { ui: Ui }) => Promise<void> }): void;
}

export default function write(pi: Api): void {
  pi.registerCommand("write", {
    description: "Writes this a moment later",
    handler: async (words, { ui }) => {
      setTimeout(() => ui.setEditorText(words), 400);
    },
  });
}
