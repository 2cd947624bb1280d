/** An extension that says what it is told to say. */

interface Ui {
  notify(text: string, level?: string): void;
}

interface Api {
  registerCommand(name: string, command: { description: string; handler: (words: string, context: { ui: Ui }) => Promise<void> }): void;
}

export default function cry(pi: Api): void {
  for (const level of ["info", "warning", "error"]) {
    pi.registerCommand(level, { description: `Says something as ${level}`, handler: async (words, { ui }) => ui.notify(words, level) });
  }
}
