import { ask, type AskOptions } from "./ask.js";
import type { CommandOf, PiClient, RequestOptions } from "./client.js";
import { AlreadyListening, ConnectionLost, PiError } from "./errors.js";
import { tell } from "./tell.js";
import type {
  AgentEvent,
  Answer,
  CommandName,
  Message,
  Numbered,
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
  /** Once per event, in order, without gap or repetition. A question that was open before anybody listened has no number: 0. */
  event?(event: AgentEvent, seq: number): void;
  /** Too much was missed to be told: this is what the session is now. What was said is read with `messages`. */
  snapshot?(snapshot: SessionSnapshot): void;
  /** The session was unloaded, or `reason` says why it can no longer be listened to. It is the last that a listener hears. */
  gone?(reason?: PiError): void;
}

/** Up to where the events of a session are known. */
export interface Position {
  epoch: string;
  seq: number;
}

/** From where on to listen: after the event with this number, as {@link Session.position} had it. */
export interface SubscribeOptions {
  afterSeq: number;
  epoch: string;
}

/** A session of the server: what it is asked, the version that it has, the events that it brings. */
export class Session {
  /** As the server said last. */
  version: number | undefined;
  private listeners = new Set<SessionListener>();
  private at: Position | undefined;
  private replayUntil = 0;
  private isJoined = false;
  /** Those that were told and are not settled. */
  private readonly questions = new Set<string>();
  /** A subscription that is under way. */
  private joining: Promise<void> | undefined;

  constructor(
    private readonly client: PiClient,
    readonly id: string,
  ) {}

  /**
   * Sends a command to this session. A command that changes it expects the version that was seen last, if `guard` is set:
   * somebody else's change in between then makes it fail with `version_mismatch` instead of being overwritten. Where none
   * was seen yet it is asked for first.
   */
  async request<Name extends SessionCommandName>(
    command: Omit<CommandOf<Name>, "sessionId"> & { type: Name },
    options: RequestOptions & { guard?: boolean } = {},
  ): Promise<SuccessResponse<Name>> {
    const { guard, ...rest } = options;
    if (guard && rest.ifSessionVersion === undefined) {
      if (this.version === undefined) {
        await this.state();
      }
      if (this.version !== undefined) {
        rest.ifSessionVersion = this.version;
      }
    }
    const full = { ...command, sessionId: this.id } as unknown as CommandOf<Name> & { type: Name };
    try {
      const response = await this.client.request<Name>(full, rest);
      this.noteVersion(response);
      return response;
    } catch (error) {
      if (error instanceof PiError) {
        this.noteVersion(error.response);
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

  /**
   * Presses a key for a component that an extension draws (`extension_ui_render`): text that was typed, or a name such as
   * `enter` or `ctrl+c`. Keys arrive in the order of the calls. `room` says how much room there is here.
   */
  async pressKey(requestId: string, key: string, room: { width?: number; height?: number } = {}): Promise<void> {
    await this.request({ type: "extension_ui_key", requestId, key, ...room });
  }

  /** Says how many columns, and rows, there are here for a component that an extension draws. */
  async resize(requestId: string, width: number, height?: number): Promise<void> {
    await this.request({ type: "extension_ui_key", requestId, width, ...(height === undefined ? {} : { height }) });
  }

  /** The last event that was heard, for {@link subscribe} of another day. Nothing while nobody listens. */
  get position(): Position | undefined {
    return this.at;
  }

  /**
   * Listens to what happens from now on, across connections; or to what happened after an event, if `from` names it. Returns
   * a function that ends it. Rejects if the session is not there; a session that goes later is told with `gone`, and its
   * listeners are forgotten. Those of one client hear the same events, so only the first of them can name an event.
   */
  async subscribe(listener: SessionListener, from?: SubscribeOptions): Promise<() => Promise<void>> {
    if (from !== undefined) {
      if (this.listeners.size > 0) {
        throw new AlreadyListening(this.id);
      }
      this.at = { epoch: from.epoch, seq: from.afterSeq };
    }
    this.client.adopt(this);
    this.listeners.add(listener);
    this.joining ??= this.isJoined ? undefined : this.join();
    try {
      await this.joining;
    } catch (error) {
      if (this.listeners.delete(listener) && this.listeners.size === 0) {
        this.at = undefined;
      }
      throw error;
    }
    return async () => {
      if (this.listeners.delete(listener) && this.listeners.size === 0) {
        this.at = undefined;
        this.questions.clear();
        this.isJoined = false;
        // With the connection the subscription is gone, and there is nothing to wait for.
        await this.client.request({ type: "unsubscribe", sessionId: this.id }, { thisConnection: true }).catch((error: unknown) => {
          if (!(error instanceof ConnectionLost)) {
            throw error;
          }
        });
      }
    };
  }

  /**
   * Says something and brings the text of the model as it comes, until the run that this begins has ended. Text of other
   * runs is left out. Throws what {@link prompt} would. An early `break` and the `signal` abort the run, unless `whenLeft`
   * is `goOn`.
   */
  ask(message: string, options: AskOptions = {}): AsyncGenerator<string, void> {
    return ask(this.client, this, message, options);
  }

  /** There is a new connection: listens again, after the last number that was seen. */
  resume(): void {
    this.isJoined = false;
    // A subscription that has no answer is sent again as every command is.
    if (this.listeners.size > 0 && this.joining === undefined) {
      this.joining = this.join();
      this.joining.catch((error: unknown) => {
        if (error instanceof PiError) {
          this.gone(error);
        } // Else the client was closed, and has said so.
      });
    }
  }

  private join(): Promise<void> {
    return this.listen().finally(() => {
      this.joining = undefined;
    });
  }

  private async listen(): Promise<void> {
    const at = this.at;
    const response = await this.client.request({
      type: "subscribe",
      sessionId: this.id,
      ...(at === undefined ? {} : { afterSeq: at.seq, epoch: at.epoch }),
    });
    this.isJoined = true;
    this.noteVersion(response);
    const { epoch, seq, resume } = response.data;
    if (resume === "live") {
      this.at ??= { epoch, seq };
    } else if (resume === "replay" && at !== undefined && this.at !== undefined && this.at.seq < seq) {
      this.replayUntil = seq;
      this.client.noteReplay(seq - this.at.seq);
    }
  }

  /** What is told again was true once: a version that is higher than ours is news, a lower one is history. */
  noteVersion(response: { sessionVersion?: number; replayed?: boolean }): void {
    const { sessionVersion, replayed } = response;
    if (sessionVersion !== undefined && (replayed !== true || sessionVersion > (this.version ?? -1))) {
      this.version = sessionVersion;
    }
  }

  /** Whether anybody listens here; somebody may have asked for the events without us. */
  hear(message: Numbered): boolean {
    if (this.listeners.size === 0) {
      return false;
    }
    const { seq, epoch, event } = message;
    if (seq !== undefined && epoch !== undefined) {
      if (this.at?.epoch === epoch && seq <= this.at.seq) {
        return true; // Told before.
      }
      this.at = { epoch, seq };
      if (this.replayUntil > 0 && seq >= this.replayUntil) {
        this.replayUntil = 0;
        this.client.noteReplay(0);
      }
    }
    if (this.isKnownQuestion(event)) {
      return true; // It is open still, and was told before.
    }
    for (const listener of this.listeners) {
      tell(() => listener.event?.(event, seq ?? 0));
    }
    return true;
  }

  see(snapshot: SessionSnapshot): void {
    if (this.listeners.size === 0) {
      return;
    }
    this.at = { epoch: snapshot.epoch, seq: snapshot.seq };
    // Questions that are open are told behind it, to whoever begins anew with it.
    this.questions.clear();
    for (const listener of this.listeners) {
      tell(() => listener.snapshot?.(snapshot));
    }
  }

  /** A server sends open questions to every connection, whether they were heard on another one or not. */
  private isKnownQuestion(event: AgentEvent): boolean {
    switch (event.type) {
      case "extension_ui_request": {
        const isKnown = this.questions.has(event.requestId);
        if (!ANNOUNCEMENTS.includes(event.method)) {
          this.questions.add(event.requestId);
        }
        return isKnown;
      }
      case "extension_ui_resolved":
        this.questions.delete(event.requestId);
        return false;
      default:
        return false;
    }
  }

  gone(reason?: PiError): void {
    this.at = undefined;
    this.isJoined = false;
    this.version = undefined;
    const listeners = [...this.listeners];
    this.listeners.clear();
    this.questions.clear();
    for (const listener of listeners) {
      tell(() => listener.gone?.(reason));
    }
  }
}

/** What nobody answers. */
const ANNOUNCEMENTS: string[] = ["notify", "setStatus", "setWidget", "setTitle", "setWorkingMessage", "setEditorText"];
