/**
 * What was sent to a session and is not taken up yet. It outlives the view that sent it and a reload of the page: with the id that it had,
 * so that a server that has taken it already does not take it twice.
 */
import { type Picture, read, write } from "./draft.svelte";

export type Manner = "prompt" | "steer" | "queue" | "stop";

export interface Outgoing {
  /** The id of its command. */
  id: string;
  text: string;
  images: readonly Picture[];
  manner: Manner;
  /** When it was sent. */
  at: number;
}

/** As long a server knows at least what came of a command; one that is older may not be sent again with the same id. */
const KNOWN_MS = 9 * 60_000;

/** Whether a command of a page that was left can be sent again without being done twice. */
export function isKnown({ at }: { at: number }): boolean {
  return Date.now() - at < KNOWN_MS;
}

export class Outbox {
  all = $state.raw<readonly Outgoing[]>([]);
  /** The ids of those that the server works on: a command of an extension may take long and become no message. */
  begun = $state.raw<ReadonlySet<string>>(new Set());
  private readonly key: string;
  /** Those that wait for an answer of the server; others were sent by a page that was left. */
  private readonly underWay = new Set<string>();

  constructor(session: string) {
    this.key = `pi.unsent.${session}`;
    this.all = JSON.parse(read(this.key) ?? "[]") as Outgoing[];
  }

  /** Those that nobody sends. */
  get left(): readonly Outgoing[] {
    return this.all.filter(({ id }) => !this.underWay.has(id));
  }

  begin(outgoing: Outgoing): void {
    this.underWay.add(outgoing.id);
    if (!this.all.some(({ id }) => id === outgoing.id)) {
      this.keep([...this.all, outgoing]);
    }
  }

  /** Leaves something to be sent by whoever opens the session. */
  leave(outgoing: Outgoing): void {
    this.keep([...this.all, outgoing]);
  }

  /** The server works on one of these, or on something else. */
  start(id: string): void {
    if (this.all.some((outgoing) => outgoing.id === id)) {
      this.begun = new Set(this.begun).add(id);
    }
  }

  /** It became a message, or waits in the queue, or was refused. */
  end(outgoing: Outgoing | undefined): void {
    if (outgoing !== undefined) {
      this.keep(this.all.filter(({ id }) => id !== outgoing.id));
    }
  }

  private keep(all: readonly Outgoing[]): void {
    this.all = all;
    write(this.key, all.length === 0 ? "" : JSON.stringify(all));
  }
}

const boxes = new Map<string, Outbox>();

/** What was sent to a session; the same one for everybody who asks. */
export function outboxOf(session: string): Outbox {
  let box = boxes.get(session);
  if (box === undefined) {
    box = new Outbox(session);
    boxes.set(session, box);
  }
  return box;
}
