import { Backoff } from "./backoff.js";
import { Closed, ConnectionLost, IncompatibleServer, PiError } from "./errors.js";
import { Session } from "./session.js";
import type { Transport, TransportFactory } from "./transport.js";
import {
  COMMANDS,
  type Command,
  type CommandName,
  type Feature,
  type Lifecycle,
  PROTOCOL_VERSION,
  RETRY,
  type Response,
  type ServerEvent,
  type ServerMessage,
  type ServerReady,
  type SuccessResponse,
} from "./wire.js";

/** A command of one kind, without what the client adds. */
export type CommandOf<Name extends CommandName> = Omit<Extract<Command, { type: Name }>, "id" | "idempotencyKey">;

export interface ClientOptions {
  /** Who this is, across connections. One is made up otherwise. */
  clientId?: string;
  /** Whose lifecycle events to be sent; none unless asked for. */
  lifecycle?: Lifecycle;
  /** Whether to connect again when the connection is lost. */
  reconnect?: boolean;
  /** How often to try before giving up; for ever unless said. */
  attempts?: number;
  firstWaitMs?: number;
  longestWaitMs?: number;
}

export interface RequestOptions {
  /** Commands that must have succeeded first: the ids that earlier requests had. */
  dependsOn?: string[];
  /** The command fails unless the session has this version. */
  ifSessionVersion?: number;
  /** An id of one's own, for `dependsOn` of later commands. */
  id?: string;
  /** How often a refusal that may pass (busy, limits) is waited for; three times unless said. */
  retries?: number;
  /** Stops waiting. The command itself goes on; use `abort` to end a run. */
  signal?: AbortSignal;
}

export type ConnectionState =
  | { state: "connecting"; attempt: number }
  /** Events that were missed come in. */
  | { state: "replaying"; events: number }
  | { state: "live" }
  | { state: "offline"; reason: string; nextAttemptMs: number }
  | { state: "closed"; reason: string };

interface Pending {
  frame: string;
  name: CommandName;
  retries: number;
  resolve(response: SuccessResponse): void;
  reject(error: Error): void;
}

/**
 * A client of a pi server.
 *
 * Every command has an id and a key of its own. While the connection is away, commands wait; when it is back they are sent
 * again as they were, and the server answers those that it has run already with what came of them. So a command runs once,
 * however often the connection breaks.
 */
export class PiClient {
  readonly clientId: string;
  /** What the server said about itself. */
  ready: ServerReady | undefined;

  private transport: Transport | undefined;
  private readonly pending = new Map<string, Pending>();
  private readonly sessions = new Map<string, Session>();
  private readonly eventListeners = new Set<(event: ServerEvent) => void>();
  private readonly stateListeners = new Set<(state: ConnectionState) => void>();
  private readonly backoff: Backoff;
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private current: ConnectionState = { state: "connecting", attempt: 1 };
  private opening: { resolve(): void; reject(error: Error): void } | undefined;
  private isClosed = false;

  constructor(
    private readonly open: (query: URLSearchParams) => TransportFactory,
    private readonly options: ClientOptions = {},
  ) {
    this.clientId = options.clientId ?? `ts-${crypto.randomUUID()}`;
    this.backoff = new Backoff(options.firstWaitMs ?? 250, options.longestWaitMs ?? 15_000);
  }

  /** Connects; resolves when the server has said hello. */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.opening = { resolve, reject };
      this.dial();
    });
  }

  get state(): ConnectionState {
    return this.current;
  }

  /** Whether the server has an addition to the document's protocol. */
  has(feature: Feature): boolean {
    return this.ready?.features?.includes(feature) ?? false;
  }

  onState(listener: (state: ConnectionState) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  /** Everything that the server says by itself, but for events of sessions. */
  onEvent(listener: (event: ServerEvent) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  /** Sends a command and waits for its success. A failure is a {@link PiError}. */
  async request<Name extends CommandName>(
    command: CommandOf<Name> & { type: Name },
    options: RequestOptions = {},
  ): Promise<SuccessResponse<Name>> {
    if (this.isClosed) {
      throw new Closed();
    }
    const { dependsOn, ifSessionVersion } = options;
    let id = options.id ?? crypto.randomUUID();
    for (let left = options.retries ?? 3; ; left -= 1) {
      const frame = JSON.stringify({
        ...command,
        id,
        idempotencyKey: id,
        ...(dependsOn === undefined ? {} : { dependsOn }),
        ...(ifSessionVersion === undefined ? {} : { ifSessionVersion }),
      });
      try {
        return (await this.send(id, command.type, frame, options.signal)) as SuccessResponse<Name>;
      } catch (error) {
        const wait = error instanceof PiError && left > 0 ? this.waitFor(error, command.type) : undefined;
        if (wait === undefined) {
          throw error;
        }
        await sleep(wait.ms, options.signal);
        if (wait.identity === "newId") {
          id = crypto.randomUUID();
        }
      }
    }
  }

  /** A session by its id, with its version and its events. */
  session(sessionId: string): Session {
    let session = this.sessions.get(sessionId);
    if (session === undefined) {
      session = new Session(this, sessionId);
      this.sessions.set(sessionId, session);
    }
    return session;
  }

  /** Makes a session, and hands back its handle. */
  async createSession(options: { sessionId?: string; cwd?: string } = {}): Promise<Session> {
    const response = await this.request({ type: "create_session", ...options });
    const session = this.session(response.data.sessionId);
    session.noteVersion(response.sessionVersion);
    return session;
  }

  /** Loads a session from disk, and hands back its handle. */
  async loadSession(sessionPath: string, options: { sessionId?: string } = {}): Promise<Session> {
    const response = await this.request({ type: "load_session", sessionPath, ...options });
    const session = this.session(response.data.sessionId);
    session.noteVersion(response.sessionVersion);
    return session;
  }

  /** Ends the connection for good. What is under way is rejected. */
  close(reason = "the client was closed"): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    clearTimeout(this.timer);
    this.transport?.close();
    this.transport = undefined;
    this.setState({ state: "closed", reason });
    this.rejectAll(new Closed());
  }

  /** Of a command that the session sends by itself: not waited for beyond this connection. */
  private send(id: string, name: CommandName, frame: string, signal: AbortSignal | undefined): Promise<SuccessResponse> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.pending.delete(id);
        reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      if (signal?.aborted) {
        return stop();
      }
      signal?.addEventListener("abort", stop, { once: true });
      const settled = () => signal?.removeEventListener("abort", stop);
      this.pending.set(id, {
        frame,
        name,
        retries: 0,
        resolve: (response) => (settled(), resolve(response)),
        reject: (error) => (settled(), reject(error)),
      });
      if (this.ready !== undefined) {
        this.transport?.send(frame);
      }
    });
  }

  /** How long to wait before a command is tried again, and as what; nothing if it makes no sense. */
  private waitFor(error: PiError, name: CommandName): { ms: number; identity: "sameId" | "newId" } | undefined {
    const code = error.code as keyof typeof RETRY | undefined;
    const identity = code === undefined ? "never" : (RETRY[code] ?? "never");
    const isRead = COMMANDS[name].effect === "read";
    // A failure that is the command's outcome stands, unless nothing can have come of it.
    if (identity === "never" || (identity === "newId" && !isRead)) {
      return undefined;
    }
    return { ms: error.retryAfterMs ?? this.backoff.next(), identity };
  }

  private dial(): void {
    this.attempt += 1;
    this.setState({ state: "connecting", attempt: this.attempt });
    const query = new URLSearchParams({ clientId: this.clientId, lifecycle: this.options.lifecycle ?? "none" });
    const transport = this.open(query)({
      frame: (text) => {
        if (this.transport === transport) {
          this.hear(text);
        }
      },
      closed: (reason) => {
        if (this.transport === transport) {
          this.lost(reason);
        }
      },
    });
    this.transport = transport;
  }

  private hear(text: string): void {
    const message = JSON.parse(text) as ServerMessage;
    switch (message.type) {
      case "response":
        return this.answer(message);
      case "server_ready":
        return this.greet(message.data);
      case "event":
        this.sessions.get(message.sessionId)?.hear(message);
        return;
      case "session_snapshot":
        this.sessions.get(message.data.sessionId)?.see(message.data);
        break;
      case "session_deleted":
        this.sessions.get(message.data.sessionId)?.gone();
        break;
      default:
        break;
    }
    for (const listener of this.eventListeners) {
      listener(message);
    }
  }

  private answer(response: Response): void {
    const id = response.id;
    const pending = typeof id === "string" ? this.pending.get(id) : undefined;
    if (typeof id !== "string" || pending === undefined) {
      return; // Nobody waits for it any more.
    }
    this.pending.delete(id);
    this.backoff.reset();
    if (response.success) {
      pending.resolve(response);
    } else {
      pending.reject(new PiError(response));
    }
  }

  private greet(ready: ServerReady): void {
    if (ready.protocolVersion.split(".")[0] !== PROTOCOL_VERSION.split(".")[0]) {
      const error = new IncompatibleServer(ready.protocolVersion, PROTOCOL_VERSION);
      this.opening?.reject(error);
      this.opening = undefined;
      this.rejectAll(error);
      this.close(error.message);
      return;
    }
    this.ready = ready;
    this.attempt = 0;
    this.backoff.reset();
    this.opening?.resolve();
    this.opening = undefined;
    // First what was listened to, then what waits: events of a run come before its answer.
    const resumed = [...this.sessions.values()].map((session) => session.resume());
    for (const { frame } of [...this.pending.values()]) {
      this.transport?.send(frame);
    }
    this.setState({ state: "live" });
    void Promise.allSettled(resumed);
  }

  /** A session gets events that were missed. */
  noteReplay(events: number): void {
    this.setState(events > 0 ? { state: "replaying", events } : { state: "live" });
  }

  private lost(reason: string): void {
    this.transport = undefined;
    this.ready = undefined;
    const isLast = this.attempt >= (this.options.attempts ?? Number.POSITIVE_INFINITY);
    if (this.isClosed || this.options.reconnect === false || isLast) {
      const error = new ConnectionLost(reason);
      this.opening?.reject(error);
      this.opening = undefined;
      this.isClosed = true;
      this.setState({ state: "closed", reason });
      this.rejectAll(error);
      return;
    }
    const wait = this.backoff.next();
    this.setState({ state: "offline", reason, nextAttemptMs: wait });
    this.timer = setTimeout(() => this.dial(), wait);
  }

  private rejectAll(error: Error): void {
    for (const pending of [...this.pending.values()]) {
      pending.reject(error);
    }
    this.pending.clear();
  }

  private setState(state: ConnectionState): void {
    this.current = state;
    for (const listener of this.stateListeners) {
      listener(state);
    }
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    });
  });
}
