import type { PiClient, RequestOptions } from "./client.js";
import { Closed, TextMissed } from "./errors.js";
import { newId } from "./identity.js";
import type { Session } from "./session.js";
import type { AgentEvent } from "./wire.js";

export interface AskOptions extends RequestOptions {
  /** Stops reading, as an early `break` does; `whenLeft` says what becomes of the run. */
  signal?: AbortSignal;
  /** What becomes of a run that is no longer read: it is aborted, unless this says `goOn`. */
  whenLeft?: "abort" | "goOn";
}

/**
 * Says something in a session and brings the text of the run that it begins, and of no other.
 *
 * Leaving early (`break`, or the signal) aborts the run. One that still waits for another run to end is aborted when it
 * begins, because `abort` before would end the other one.
 */
export async function* ask(
  client: PiClient,
  session: Session,
  message: string,
  options: AskOptions,
): AsyncGenerator<string, void> {
  const { signal, whenLeft, ...rest } = options;
  signal?.throwIfAborted();
  const id = rest.id ?? newId();
  const run = new OwnRun(message);
  const leave = await session.subscribe({
    event: (event) => run.hear(event),
    snapshot: () => run.miss(),
    gone: () => run.miss(),
  });
  const stopStart = await client.onStart(id, () => run.start()).catch(async (error: unknown) => {
    await leave().catch(unlessClosed);
    throw error;
  });
  if (stopStart === undefined) {
    run.start(); // It may begin at any time: nobody will say when.
  }
  const stopState = client.onState(({ state }) => {
    if (state === "offline") {
      run.start(); // Perhaps it began while nobody could say so.
    }
  });
  const stop = () => run.wake();
  signal?.addEventListener("abort", stop);
  const answered = session.prompt(message, { ...rest, id }).then(
    () => run.answer(undefined),
    (error: unknown) => run.answer({ error }),
  );
  const end = async () => {
    stopStart?.();
    stopState();
    await leave();
  };
  try {
    for (;;) {
      signal?.throwIfAborted();
      const piece = run.next();
      if (piece !== undefined) {
        yield piece;
      } else if (run.isOver) {
        break;
      } else {
        await run.change();
      }
    }
    run.finish();
  } finally {
    signal?.removeEventListener("abort", stop);
    if (run.isOver || whenLeft === "goOn") {
      await end().catch(unlessClosed);
    } else if (run.isRunning) {
      await session.abort().catch(unlessClosed);
      await answered;
      await end().catch(unlessClosed);
    } else {
      // Goes on beside the caller, who has better things to do than to wait for the runs of others.
      void abortAtStart(session, run).then(end).catch(() => undefined); // Without a session there is nothing to end.
    }
  }
}

/** Nothing has to be put away in a connection that is closed. */
function unlessClosed(error: unknown): void {
  if (!(error instanceof Closed)) {
    throw error;
  }
}

async function abortAtStart(session: Session, run: OwnRun): Promise<void> {
  while (!run.isRunning && !run.isOver) {
    await run.change();
  }
  if (run.isRunning) {
    await session.abort();
  }
}

/** How long the last events of a run may come after its answer. */
const STRAGGLE_MS = 1000;

/**
 * Tells one's own run from those that others began in the same session.
 *
 * Events do not say whose run they belong to. But a run begins with what was said, and not before the command that says it.
 */
class OwnRun {
  /** The server runs the command, or nobody knows whether it does. */
  private isStarted = false;
  private stage: "waiting" | "running" | "settled" = "waiting";
  /** Of the run that is heard now, while it is not known to be one's own: whether it may be, and its text. */
  private candidate: { isOpen: boolean; pieces: string[] } | undefined;
  /** The text of the last such run that has ended. */
  private last: string[] | undefined;
  private readonly pieces: string[] = [];
  private outcome: { error: unknown } | "success" | undefined;
  private hasMissed = false;
  private wakers: (() => void)[] = [];

  constructor(private readonly message: string) {}

  /** Whether it is the one in flight, which `abort` would end. */
  get isRunning(): boolean {
    return this.stage === "running" && this.outcome === undefined;
  }

  /** Whether it has been answered, and all of its text has come. */
  get isOver(): boolean {
    return this.outcome !== undefined && this.stage !== "running";
  }

  start(): void {
    this.isStarted = true;
  }

  hear(event: AgentEvent): void {
    switch (event.type) {
      case "agent_start":
        if (this.stage === "waiting" && this.isStarted) {
          this.candidate ??= { isOpen: true, pieces: [] };
        }
        break;
      case "message_start":
        if (this.candidate?.isOpen && event.message.role === "user") {
          this.candidate.isOpen = false;
          if (this.isOurs(event.message.content)) {
            this.candidate = undefined;
            this.stage = "running";
          }
        }
        break;
      case "message_update":
        if (event.assistantMessageEvent.type === "text_delta") {
          const pieces = this.stage === "running" ? this.pieces : this.candidate?.pieces;
          pieces?.push(event.assistantMessageEvent.delta);
        }
        break;
      case "agent_settled":
        if (this.stage === "running") {
          this.stage = "settled";
        } else if (this.candidate !== undefined && this.outcome === undefined) {
          this.last = this.candidate.pieces;
          this.candidate = undefined;
        }
        break;
      default:
        return;
    }
    this.wake();
  }

  /** Events were missed, and with them perhaps some of the text. */
  miss(): void {
    this.hasMissed = true;
    if (this.outcome !== undefined) {
      this.stage = "settled";
    }
    this.wake();
  }

  answer(failure: { error: unknown } | undefined): void {
    this.outcome = failure ?? "success";
    if (this.stage === "waiting" && failure === undefined) {
      // What was said was changed on its way (by a template, by an extension), so it was not recognised: it was the last.
      this.pieces.push(...(this.last ?? this.candidate?.pieces ?? []));
    } else if (this.stage === "running") {
      const settle = () => {
        this.stage = "settled";
        this.wake();
      };
      setTimeout(settle, this.hasMissed ? 0 : STRAGGLE_MS);
    }
    this.wake();
  }

  next(): string | undefined {
    return this.pieces.shift();
  }

  /** Throws if it failed, or if not all of the text came. */
  finish(): void {
    if (this.outcome !== undefined && this.outcome !== "success") {
      throw this.outcome.error;
    }
    if (this.hasMissed) {
      throw new TextMissed();
    }
  }

  wake(): void {
    for (const waker of this.wakers.splice(0)) {
      waker();
    }
  }

  change(): Promise<void> {
    return new Promise((resolve) => this.wakers.push(resolve));
  }

  private isOurs(content: string | { type: string; text?: string }[]): boolean {
    const text =
      typeof content === "string"
        ? content
        : content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
    // Templates and skills are called with a slash, and what they say stands in the place of the call.
    return text.trim() === this.message.trim() || this.message.trimStart().startsWith("/");
  }
}
