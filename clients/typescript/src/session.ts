import type { CommandOf, PiClient, RequestOptions } from "./client.js";
import { PiError } from "./errors.js";
import type {
  Answer,
  CommandName,
  Message,
  Numbered,
  SessionEvent,
  SessionInfo,
  SessionSnapshot,
  StreamingBehavior,
  SuccessResponse,
} from "./wire.js";

/** Commands that go to a session. */
type SessionCommandName = Extract<
  { [Name in CommandName]: CommandOf<Name> extends { sessionId: string } ? Name : never }[CommandName],
  CommandName
>;

export interface SessionListener {
  /** Once per event, in order, without gap or repetition. */
  event?(event: SessionEvent, seq: number): void;
  /** Too much was missed to be told: this is what the session is now. What was said is read with `messages`. */
  snapshot?(snapshot: SessionSnapshot): void;
  /** The session was unloaded. */
  gone?(): void;
}

/** A session of the server: what it is asked, the version that it has, the events that it brings. */
export class Session {
  /** As the server said last. */
  version: number | undefined;
  private listeners = new Set<SessionListener>();
  private at: { epoch: string; seq: number } | undefined;
  private replayUntil = 0;

  constructor(
    private readonly client: PiClient,
    readonly id: string,
  ) {}

  /**
   * Sends a command to this session. A command that changes it expects the version that was seen last, if `guard` is set:
   * somebody else's change in between then makes it fail with `version_mismatch` instead of being overwritten.
   */
  async request<Name extends SessionCommandName>(
    command: Omit<CommandOf<Name>, "sessionId"> & { type: Name },
    options: RequestOptions & { guard?: boolean } = {},
  ): Promise<SuccessResponse<Name>> {
    const { guard, ...rest } = options;
    if (guard && rest.ifSessionVersion === undefined && this.version !== undefined) {
      rest.ifSessionVersion = this.version;
    }
    const full = { ...command, sessionId: this.id } as unknown as CommandOf<Name> & { type: Name };
    try {
      const response = await this.client.request<Name>(full, rest);
      this.noteVersion(response.sessionVersion);
      return response;
    } catch (error) {
      if (error instanceof PiError) {
        this.noteVersion(error.response.sessionVersion);
      }
      throw error;
    }
  }

  /** Says something and waits for the end of the run. */
  async prompt(message: string, options: RequestOptions & { streamingBehavior?: StreamingBehavior } = {}): Promise<void> {
    const { streamingBehavior, ...rest } = options;
    await this.request({ type: "prompt", message, ...(streamingBehavior ? { streamingBehavior } : {}) }, rest);
  }

  async steer(message: string): Promise<void> {
    await this.request({ type: "steer", message });
  }

  async followUp(message: string): Promise<void> {
    await this.request({ type: "follow_up", message });
  }

  async abort(): Promise<void> {
    await this.request({ type: "abort" });
  }

  async state(): Promise<SessionInfo> {
    return (await this.request({ type: "get_state" })).data;
  }

  async messages(): Promise<Message[]> {
    return (await this.request({ type: "get_messages" })).data.messages;
  }

  /** Answers a question that an extension asked. */
  async answer(requestId: string, response: Answer): Promise<void> {
    await this.request({ type: "extension_ui_response", requestId, response });
  }

  /** Listens to what happens from now on, across connections. Returns a function that ends it. */
  async subscribe(listener: SessionListener): Promise<() => Promise<void>> {
    this.listeners.add(listener);
    if (this.listeners.size === 1) {
      await this.resume();
    }
    return async () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) {
        this.at = undefined;
        await this.client.request({ type: "unsubscribe", sessionId: this.id });
      }
    };
  }

  /** Text of the model as it comes, until the run ends. */
  async *ask(message: string, options: RequestOptions = {}): AsyncGenerator<string, void> {
    const pieces: string[] = [];
    let wake = () => {};
    const leave = await this.subscribe({
      event(event) {
        const step = event.type === "message_update" ? event.assistantMessageEvent : undefined;
        if (step?.type === "text_delta") {
          pieces.push(step.delta);
          wake();
        }
      },
    });
    let isOver = false;
    const run = this.prompt(message, options).finally(() => {
      isOver = true;
      wake();
    });
    run.catch(() => undefined); // Thrown below, when the text is out.
    try {
      while (!isOver || pieces.length > 0) {
        const piece = pieces.shift();
        if (piece === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else {
          yield piece;
        }
      }
      await run;
    } finally {
      await leave();
    }
  }

  /** Listens again on a new connection, after the last number that was seen. */
  async resume(): Promise<void> {
    if (this.listeners.size === 0) {
      return;
    }
    const at = this.at;
    const response = await this.client.request({
      type: "subscribe",
      sessionId: this.id,
      ...(at === undefined ? {} : { afterSeq: at.seq, epoch: at.epoch }),
    });
    this.noteVersion(response.sessionVersion);
    const { epoch, seq, resume } = response.data;
    if (resume === "live") {
      this.at ??= { epoch, seq };
    } else if (resume === "replay" && at !== undefined && this.at !== undefined && this.at.seq < seq) {
      this.replayUntil = seq;
      this.client.noteReplay(seq - this.at.seq);
    }
  }

  noteVersion(version: number | undefined): void {
    if (version !== undefined) {
      this.version = version;
    }
  }

  hear(message: Numbered): void {
    const { seq, epoch, event } = message;
    if (seq !== undefined && epoch !== undefined) {
      if (this.at?.epoch === epoch && seq <= this.at.seq) {
        return; // Told before.
      }
      this.at = { epoch, seq };
      if (this.replayUntil > 0 && seq >= this.replayUntil) {
        this.replayUntil = 0;
        this.client.noteReplay(0);
      }
    }
    for (const listener of this.listeners) {
      listener.event?.(event, seq ?? 0);
    }
  }

  see(snapshot: SessionSnapshot): void {
    this.at = { epoch: snapshot.epoch, seq: snapshot.seq };
    for (const listener of this.listeners) {
      listener.snapshot?.(snapshot);
    }
  }

  gone(): void {
    this.at = undefined;
    this.version = undefined;
    for (const listener of this.listeners) {
      listener.gone?.();
    }
  }
}
