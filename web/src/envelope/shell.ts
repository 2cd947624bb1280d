/** The viewer as the server has it, to be filled with data and saved as a file. */
import { w } from "./words";

export async function fetchShell(): Promise<string> {
  const answer = await fetch("/viewer.html");
  const text = answer.ok ? await answer.text() : "";
  if (!text.includes('id="pi-data"')) {
    throw new Error(w("save.noShell"));
  }
  return text;
}
