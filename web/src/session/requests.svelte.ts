/**
 * The requests of a session to its model, without gaps from the newest back to some older one.
 *
 * New ones are added as they come; older ones are read when something asks for them.
 */
import type { ModelRequest, Session } from "pi-client";

const PAGE = 200;
/** Few come at once while somebody looks; a newest request that was without its usage is among them. */
const NEWEST = 20;

export interface Turn {
  request: ModelRequest;
  /** The turn before it, whose prompt the cache may hold. */
  before: string | undefined;
  /** Whether the conversation was compacted since that. */
  isCompacted: boolean;
}

export class Requests {
  /** The oldest first. */
  all = $state.raw<readonly ModelRequest[]>([]);
  /** Whether the first request of the session is among them. */
  isComplete = $state.raw(false);
  /** Turns by the entry where the conversation stood. The last one for an entry is the one that was answered. */
  readonly turns: ReadonlyMap<string, Turn> = $derived.by(() => {
    const found = new Map<string, Turn>();
    let before: string | undefined;
    let isCompacted = false;
    for (const request of this.all) {
      isCompacted ||= request.purpose === "compaction";
      if (request.purpose !== "turn") {
        continue;
      }
      if (request.entryId !== undefined) {
        found.set(request.entryId, { request, before, isCompacted: isCompacted && before !== undefined });
      }
      before = request.requestId;
      isCompacted = false;
    }
    return found;
  });
  /** Readings follow one another, so that each begins where the one before it ended. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly session: Session) {}

  /** Reads what has come since the last reading, back to the first that is known. */
  readNewer(): Promise<void> {
    return this.inTurn(async () => {
      const known = new Set(this.all.map((request) => request.requestId));
      const found: ModelRequest[] = [];
      let isKnown = false;
      let hasMore = true;
      while (!isKnown && hasMore) {
        const page = await this.page(known.size === 0 ? PAGE : NEWEST, found.at(-1)?.requestId);
        found.push(...page.requests);
        isKnown = known.size === 0 || page.requests.some((request) => known.has(request.requestId));
        hasMore = page.hasMore && page.requests.length > 0;
      }
      const names = new Set(found.map((request) => request.requestId));
      // What is newer than all that was found now belongs to a way that the session has left.
      const first = this.all.findIndex((request) => names.has(request.requestId));
      this.isComplete = !hasMore || (first > 0 && this.isComplete);
      this.all = [...this.all.slice(0, Math.max(0, first)), ...found.reverse()];
    });
  }

  /** Reads older ones, until one of them is from before this time. */
  reachBack(time: number): Promise<void> {
    return this.inTurn(async () => {
      while (!this.isComplete && this.all.length > 0 && (this.all[0]?.time ?? 0) >= time) {
        const page = await this.page(PAGE, this.all[0]?.requestId);
        this.isComplete = !page.hasMore || page.requests.length === 0;
        this.all = [...page.requests.reverse(), ...this.all];
      }
    });
  }

  /** Reads all that are missing. */
  async readAll(): Promise<void> {
    await this.readNewer();
    await this.reachBack(Number.NEGATIVE_INFINITY);
  }

  private async page(limit: number, before: string | undefined): Promise<{ requests: ModelRequest[]; hasMore: boolean }> {
    const { data } = await this.session.request({ type: "list_requests", limit, ...(before === undefined ? {} : { before }) });
    return { requests: [...data.requests], hasMore: data.hasMore };
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined); // Told to whoever asked.
    return done;
  }
}
