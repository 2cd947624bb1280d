/**
 * Other words for something that waits to be said, while they are typed. They are kept as a draft is: another view, another session and a
 * reload leave them where they are.
 */
import { read, write } from "./draft.svelte";

/** What is changed: which of those that wait, what it said, and what it is to say. */
interface Change {
  itemId: string;
  before: string;
  words: string;
}

export class Rewording {
  now = $state.raw<Change | undefined>();
  private readonly key: string;

  constructor(session: string) {
    this.key = `pi.rewording.${session}`;
    this.now = (JSON.parse(read(this.key) ?? "null") as Change | null) ?? undefined;
  }

  /** Whether anything would be lost. */
  get isChanged(): boolean {
    return this.now !== undefined && this.now.words.trim() !== "" && this.now.words !== this.now.before;
  }

  begin(itemId: string, before: string): void {
    this.keep({ itemId, before, words: before });
  }

  write(words: string): void {
    if (this.now !== undefined) {
      this.keep({ ...this.now, words });
    }
  }

  end(): void {
    this.keep(undefined);
  }

  private keep(change: Change | undefined): void {
    this.now = change;
    write(this.key, change === undefined ? "" : JSON.stringify(change));
  }
}

const rewordings = new Map<string, Rewording>();

/** What is changed in the queue of a session; the same one for everybody who asks. */
export function rewordingOf(session: string): Rewording {
  let rewording = rewordings.get(session);
  if (rewording === undefined) {
    rewording = new Rewording(session);
    rewordings.set(session, rewording);
  }
  return rewording;
}
