/** What a session begins with: an example, or what was typed where one begins. That goes along with every session that is begun there. */
import { newId } from "pi-client";
import { draftOf, HOME, type Picture } from "./draft.svelte";
import { outboxOf } from "./outbox.svelte";

/** What is said first: something that is offered, what was typed, or nothing yet. */
export type Beginning = { say: string } | "typed" | "nothing";

/** Has it said by whoever opens the session. What was typed and is not said yet stands in its editor. */
export function begin(session: string, first: Beginning): void {
  const typed = draftOf(HOME);
  const words = typed.text.trim();
  // What is no message but a command is looked at before it is done.
  const isSaid = first === "typed" && !/^[/!]/.test(words);
  if (isSaid) {
    leave(session, words, typed.images.map(({ type, data, mimeType }) => ({ type, data, mimeType })));
  } else if (!typed.isEmpty) {
    draftOf(session).write(typed.text);
    draftOf(session).attach(typed.images);
  }
  typed.clear();
  if (typeof first === "object") {
    leave(session, first.say, []);
  }
}

function leave(session: string, text: string, images: readonly Picture[]): void {
  outboxOf(session).leave({ id: newId(), text, images, manner: "prompt", at: Date.now() });
}
