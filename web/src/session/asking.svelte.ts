/**
 * Which sessions wait for an answer of a person. The one that is shown says it itself; to the others that the server has loaded this
 * listens, because a question that nobody sees holds up a run.
 */
import type { AgentEvent } from "pi-client";
import { link } from "../link/link.svelte";
import { isAnnouncement } from "./stage.svelte";

/** See `conversation.svelte.ts`: what there is comes as a snapshot. */
const NO_EPOCH = "-";
/** Sessions that are listened to; of more than so many nobody looks at the list. */
const MOST = 24;

class Watch {
  readonly requests = new Set<string>();
  /** Ends it, when it has begun. */
  leave: Promise<() => Promise<void>>;

  constructor(id: string, changed: () => void, worked: () => void, ended: () => void) {
    this.leave = link.client.session(id).subscribe(
      {
        snapshot: ({ questions }) => {
          this.requests.clear();
          for (const { requestId } of questions) {
            this.requests.add(requestId);
          }
          changed();
        },
        event: (event) => {
          if (event.type === "agent_start" || event.type === "agent_settled") {
            worked();
          }
          if (this.hear(event)) {
            changed();
          }
        },
        gone: ended,
      },
      { afterSeq: 0, epoch: NO_EPOCH },
    );
    this.leave.catch(ended); // A session that is gone asks nothing.
  }

  private hear(event: AgentEvent): boolean {
    if (event.type === "extension_ui_resolved") {
      return this.requests.delete(event.requestId);
    }
    if (event.type === "extension_ui_request" && !isAnnouncement(event)) {
      this.requests.add(event.requestId);
      return true;
    }
    return false;
  }
}

class Asking {
  /** Those that ask, in the order in which they began to. */
  sessions = $state.raw<readonly string[]>([]);
  /** Called when a run of any session begins or ends. */
  onwork: () => void = () => {};
  private readonly watches = new Map<string, Watch>();
  /** Those that tell it themselves, as often as they are shown: one may be opened again before it was left. */
  private shown: readonly string[] = [];
  private wanted: readonly string[] = [];

  /** Listens to these and to no others. */
  follow(ids: readonly string[]): void {
    this.wanted = ids.slice(0, MOST);
    for (const id of [...this.watches.keys(), ...this.sessions]) {
      if (!this.wanted.includes(id) && !this.shown.includes(id)) {
        void this.drop(id);
        this.tell(id, false);
      }
    }
    for (const id of this.wanted) {
      if (!this.shown.includes(id) && !this.watches.has(id)) {
        this.watch(id);
      }
    }
  }

  /** From now on the session tells it itself. Resolves when nobody else listens to it. */
  async show(id: string): Promise<void> {
    this.shown = [...this.shown, id];
    await this.drop(id);
  }

  hide(id: string): void {
    this.shown = this.shown.toSpliced(this.shown.indexOf(id), 1);
    this.follow(this.wanted);
  }

  tell(id: string, asks: boolean): void {
    if (this.sessions.includes(id) !== asks) {
      this.sessions = asks ? [...this.sessions, id] : this.sessions.filter((one) => one !== id);
    }
  }

  private watch(id: string): void {
    const isMine = () => this.watches.get(id) === watch;
    const changed = () => isMine() && this.tell(id, watch.requests.size > 0);
    const ended = () => {
      if (isMine()) {
        this.watches.delete(id);
        this.tell(id, false);
      }
    };
    const watch: Watch = new Watch(id, changed, () => this.onwork(), ended);
    this.watches.set(id, watch);
  }

  private async drop(id: string): Promise<void> {
    const watch = this.watches.get(id);
    this.watches.delete(id);
    const leave = await watch?.leave.catch(() => undefined);
    await leave?.().catch(() => undefined); // Whoever leaves does not care how.
  }
}

export const asking = new Asking();
