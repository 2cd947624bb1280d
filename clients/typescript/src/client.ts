import { Backoff } from "./backoff.js";
import { Closed, ConnectionLost, IncompatibleServer, PiError, Refused } from "./errors.js";
import { newId } from "./identity.js";
import { Session } from "./session.js";
import { tell } from "./tell.js";
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
  /** Whose lifecycle events `onEvent` brings; none unless asked for. */
  lifecycle?: Lifecycle;
  /** Whether to connect again when the connection is lost. */
  reconnect?: boolean;
  /** How often `connect` tries before it rejects; three times unless said. */
  connectAttempts?: number;
  /** How often a connection that was lost is tried for; for ever unless said. */
  attempts?: number;
  /** How long a server may take to say hello, each time; ten seconds unless said. */
  helloMs?: number;
  /**
   * How long a server may be silent before it is asked for a sign of life; 45 seconds unless said. It has `helloMs` then, and in a
   * browser, where a large frame on a slow link cannot be told from silence, two minutes unless `helloMs` is said.
   */
  silenceMs?: number;
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
  /**
   * Whether to wait for a circuit that is open (half a minute, usually), and then to say the command again under another id. Not unless
   * said: who asked may want something else by then.
   */
  waitForCircuit?: boolean;
  /**
   * Whether it is about the connection that there is, and about no other: it neither waits for a new one nor is sent again there, but
   * rejected with {@link ConnectionLost}.
   */
  thisConnection?: boolean;
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
  command: string;
  frame: string;
  /** Whether it went out on the connection that there is. */
  isSent: boolean;
  /** Whether it goes with that connection. */
  isOfConnection: boolean;
  /** Everybody who sent it: the same command under the same id is one command. */
  waiting: Set<Waiter>;
}

interface Waiter {
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
  private readonly startListeners = new Map<string, () => void>();
  /** What the server is asked for; more than listeners are told once somebody wants to know of starts. */
  private lifecycle: Lifecycle;
  private lifecycleChange: Promise<unknown> | undefined;
  private readonly backoff: Backoff;
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private helloTimer: ReturnType<typeof setTimeout> | undefined;
  private silenceTimer: ReturnType<typeof setTimeout> | undefined;
  /** When the server was heard last. */
  private heardAt = 0;
  /** How many bytes had come by then, where that is known. */
  private received: number | undefined;
  private current: ConnectionState = { state: "connecting", attempt: 1 };
  private opening: { resolve(): void; reject(error: Error): void } | undefined;
  private isClosed = false;

  constructor(
    private readonly open: (query: URLSearchParams) => TransportFactory,
    private readonly options: ClientOptions = {},
  ) {
    this.clientId = options.clientId ?? `ts-${newId()}`;
    this.lifecycle = options.lifecycle ?? "none";
    this.backoff = this.newBackoff();
  }

  /**
   * Connects; resolves when the server has said hello. Rejects with {@link Refused} if the server does not let us in, and
   * with {@link ConnectionLost} after so many attempts as `connectAttempts` says. Once this has worked, a connection that
   * is lost is made again by itself.
   */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.opening = { resolve, reject };
      this.dial();
    });
  }

  /** Tries at once, if the connection is lost and its next attempt is waited for: for whoever knows that something has changed. */
  reconnectNow(): void {
    if (this.current.state === "offline") {
      clearTimeout(this.timer);
      this.dial();
    }
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

  /** Everything that the server says by itself, but for events that a listener of their session hears. */
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
    let id = options.id ?? newId();
    const backoff = this.newBackoff();
    for (let left = options.retries ?? 3; ; left -= 1) {
      // The id stands first: the server names it even if it cannot read the rest.
      const head = { id, idempotencyKey: id, dependsOn, ifSessionVersion };
      const frame = JSON.stringify(Object.assign({ id }, command, defined(head)));
      try {
        return (await this.send(id, command.type, frame, options)) as SuccessResponse<Name>;
      } catch (error) {
        const wait = error instanceof PiError && left > 0 ? this.waitFor(error, command.type, backoff, options) : undefined;
        if (wait === undefined) {
          throw error;
        }
        await sleep(wait.ms, options.signal);
        if (wait.identity === "newId") {
          id = newId();
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
    session.noteVersion(response);
    return session;
  }

  /** Loads a session from disk, and hands back its handle. */
  async loadSession(sessionPath: string, options: { sessionId?: string; cwd?: string } = {}): Promise<Session> {
    const response = await this.request({ type: "load_session", sessionPath, ...options });
    const session = this.session(response.data.sessionId);
    session.noteVersion(response);
    return session;
  }

  /** Ends the connection for good. What is under way is rejected. */
  close(reason = "the client was closed"): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    this.endWith(new Closed(), reason);
  }

  /**
   * Calls back when the server begins to run the command with this id. Resolves to a function that ends it, or to nothing
   * if this server does not tell.
   */
  async onStart(id: string, listener: () => void): Promise<(() => void) | undefined> {
    if (!this.has("lifecycle")) {
      return undefined;
    }
    this.startListeners.set(id, listener);
    const stop = () => this.startListeners.delete(id);
    if (this.lifecycle === "none") {
      this.lifecycle = "own";
      this.lifecycleChange = this.request({ type: "set_lifecycle", lifecycle: "own" });
    }
    try {
      await this.lifecycleChange;
      return stop;
    } catch (error) {
      stop();
      this.lifecycle = this.options.lifecycle ?? "none";
      if (error instanceof PiError) {
        return undefined; // The server does not want to tell, which is its right.
      }
      throw error;
    }
  }

  private send(
    id: string,
    command: string,
    frame: string,
    { signal, thisConnection: isOfConnection = false }: RequestOptions,
  ): Promise<SuccessResponse> {
    return new Promise((resolve, reject) => {
      const reason = () => (signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
      if (signal?.aborted) {
        return reject(reason());
      }
      if (isOfConnection && this.ready === undefined) {
        return reject(new ConnectionLost("there is no connection"));
      }
      const known = this.pending.get(id);
      if (known !== undefined && known.frame !== frame) {
        const error = `Conflicting id: '${id}' is that of a ${known.command} that has no answer yet`;
        return reject(new PiError({ id, type: "response", command, success: false, error, code: "conflict" }));
      }
      const pending = known ?? { command, frame, isSent: false, isOfConnection, waiting: new Set<Waiter>() };
      const stop = () => {
        pending.waiting.delete(waiter);
        if (pending.waiting.size === 0 && this.pending.get(id) === pending) {
          this.pending.delete(id);
        }
        reject(reason());
      };
      const settled = () => signal?.removeEventListener("abort", stop);
      const waiter: Waiter = {
        resolve: (response) => (settled(), resolve(response)),
        reject: (error) => (settled(), reject(error)),
      };
      signal?.addEventListener("abort", stop, { once: true });
      pending.waiting.add(waiter);
      if (known === undefined) {
        this.pending.set(id, pending);
        this.transmit(id);
      }
    });
  }

  /** Sends what waits, if there is a server to send it to. What it would not read is refused here. */
  private transmit(id: string): void {
    const pending = this.pending.get(id);
    if (pending === undefined || this.ready === undefined) {
      return;
    }
    const most = this.ready.maxMessageBytes ?? Number.POSITIVE_INFINITY;
    const size = sizeUpTo(pending.frame, most);
    if (size > most) {
      this.refuse(id, `Message size ${size} exceeds limit ${most}`);
      return;
    }
    pending.isSent = true;
    this.transport?.send(pending.frame);
  }

  /** The largest command that was sent, if nothing else can have been too large for the server or for a proxy. */
  private refuseLargest(): void {
    const sent = [...this.pending].filter(([, { isSent }]) => isSent);
    const largest = sent.sort(([, one], [, other]) => other.frame.length - one.frame.length)[0];
    if (largest !== undefined) {
      this.refuse(largest[0], "The connection was closed because a message is too large");
    }
  }

  /** Ends a command as the server does when it is too large. It is not sent again. */
  private refuse(id: string, error: string): void {
    const pending = this.pending.get(id);
    this.pending.delete(id);
    const hint = "send large content as a file and name its path";
    const command = pending?.command ?? "unknown";
    fail(pending, new PiError({ id, type: "response", command, success: false, error, code: "message_too_large", hint }));
  }

  /** How long to wait before a command is tried again, and as what; nothing if it makes no sense. */
  private waitFor(
    error: PiError,
    name: CommandName,
    backoff: Backoff,
    { waitForCircuit = false }: RequestOptions,
  ): { ms: number; identity: "sameId" | "newId" } | undefined {
    const code = error.code as keyof typeof RETRY | undefined;
    const identity = code === undefined ? "never" : (RETRY[code] ?? "never");
    // Plain JavaScript may send what is no command; the server's answer says so.
    const isRead = (COMMANDS as Partial<typeof COMMANDS>)[name]?.effect === "read";
    // A failure that is the command's outcome stands, unless nothing can have come of it: of a read, or of a circuit that was
    // open before anything was said.
    const mayBeNew = isRead || (waitForCircuit && UNTOUCHED.includes(error.code ?? ""));
    if (identity === "never" || (identity === "newId" && !mayBeNew)) {
      return undefined;
    }
    // The server knows when at the earliest; whoever is refused again and again waits longer. Whoever wants to stop something, or
    // has an answer that is waited for, does not wait until it is too late.
    const longest = URGENT.includes(name) ? URGENT_MS : Infinity;
    return { ms: Math.min(Math.max(error.retryAfterMs ?? 0, backoff.next()), longest), identity };
  }

  private newBackoff(): Backoff {
    return new Backoff(this.options.firstWaitMs ?? 250, this.options.longestWaitMs ?? 15_000);
  }

  private dial(): void {
    this.attempt += 1;
    this.setState({ state: "connecting", attempt: this.attempt });
    const query = new URLSearchParams({ clientId: this.clientId, lifecycle: this.lifecycle });
    const transport = this.open(query)({
      alive: () => {
        if (this.transport === transport) {
          this.heardAt = performance.now();
        }
      },
      frame: (text) => {
        if (this.transport === transport) {
          this.heardAt = performance.now();
          this.received = transport.received?.();
          this.hear(text);
        }
      },
      closed: (reason, code) => {
        if (this.transport === transport) {
          if (code === TOO_LARGE) {
            this.refuseLargest();
          }
          this.lost(reason);
        }
      },
      refused: (status, text) => {
        if (this.transport === transport) {
          this.refused(new Refused(status, text));
        }
      },
    });
    this.transport = transport;
    this.received = undefined;
    const patience = this.options.helloMs ?? HELLO_MS;
    this.helloTimer = setTimeout(() => this.leave(`the server said nothing for ${patience} ms`), patience);
  }

  /**
   * Notices a connection that is dead although nobody said so: one over a network that went away, or to a machine that was
   * cut off. A server that is silent is asked whether it is there, and one that says nothing then is left. A large frame on a
   * slow link is no silence: its bytes count, and where they cannot be seen it is waited for.
   */
  private watch(ms = this.silence): void {
    clearTimeout(this.silenceTimer);
    if (!Number.isFinite(ms)) {
      return;
    }
    this.silenceTimer = setTimeout(() => {
      this.noticeBytes();
      const quiet = performance.now() - this.heardAt;
      if (quiet < this.silence) {
        return this.watch(this.silence - quiet);
      }
      const asked = this.heardAt;
      this.transport?.send(JSON.stringify({ id: newId(), type: "health_check" }));
      const patience = this.options.helloMs ?? (this.transport?.received === undefined ? UNSEEN_MS : HELLO_MS);
      this.silenceTimer = setTimeout(() => {
        this.noticeBytes();
        if (this.heardAt === asked) {
          this.leave(`the server gave no sign of life for ${Math.round(performance.now() - asked)} ms`);
        } else {
          this.watch();
        }
      }, patience);
    }, ms);
  }

  /** What came since the last look is a sign of life, although it is no frame yet. */
  private noticeBytes(): void {
    const received = this.transport?.received?.();
    if (received !== this.received) {
      this.received = received;
      this.heardAt = performance.now();
    }
  }

  private get silence(): number {
    return this.options.silenceMs ?? SILENCE_MS;
  }

  /** Gives up a connection that is of no use. */
  private leave(reason: string): void {
    const transport = this.transport;
    this.lost(reason);
    transport?.close();
  }

  private hear(text: string): void {
    const message = read(text);
    if (message === undefined) {
      this.leave(`the server sent what is no message: ${text.slice(0, SHOWN)}`);
      return;
    }
    switch (message.type) {
      case "response":
        return this.answer(message);
      case "server_ready":
        return this.greet(message.data);
      case "event":
        if (this.sessions.get(message.sessionId)?.hear(message) === true) {
          return;
        }
        break;
      case "session_snapshot":
        this.sessions.get(message.data.sessionId)?.see(message.data);
        break;
      case "session_deleted":
        this.sessions.get(message.data.sessionId)?.gone();
        this.sessions.delete(message.data.sessionId);
        break;
      case "command_started":
        this.startListeners.get(message.data.commandId)?.();
        if (this.hidesLifecycle) {
          return;
        }
        break;
      case "command_accepted":
      case "command_finished":
        if (this.hidesLifecycle) {
          return;
        }
        break;
      default:
        break;
    }
    for (const listener of this.eventListeners) {
      tell(() => listener(message));
    }
  }

  private get hidesLifecycle(): boolean {
    return (this.options.lifecycle ?? "none") === "none";
  }

  private answer(response: Response): void {
    const id = response.id;
    const pending = typeof id === "string" ? this.pending.get(id) : undefined;
    if (typeof id !== "string" || pending === undefined) {
      return; // Nobody waits for it any more.
    }
    this.pending.delete(id);
    if (response.success) {
      for (const { resolve } of pending.waiting) {
        resolve(response);
      }
    } else {
      fail(pending, new PiError(response));
    }
  }

  private greet(ready: ServerReady): void {
    clearTimeout(this.helloTimer);
    if (ready.protocolVersion.split(".")[0] !== PROTOCOL_VERSION.split(".")[0]) {
      this.endWith(new IncompatibleServer(ready.protocolVersion, PROTOCOL_VERSION));
      return;
    }
    this.ready = ready;
    this.attempt = 0;
    this.backoff.reset();
    this.opening?.resolve();
    this.opening = undefined;
    // First what was listened to, then what waits: events of a run come before its answer.
    const waiting = [...this.pending.keys()];
    for (const session of this.sessions.values()) {
      session.resume();
    }
    for (const id of waiting) {
      this.transmit(id);
    }
    this.setState({ state: "live" });
    this.watch();
  }

  /** Somebody listens to a session: it hears of its events, also where it was deleted and made again. */
  adopt(session: Session): void {
    if (!this.sessions.has(session.id)) {
      this.sessions.set(session.id, session);
    }
  }

  /** A session gets events that were missed. */
  noteReplay(events: number): void {
    this.setState(events > 0 ? { state: "replaying", events } : { state: "live" });
  }

  private lost(reason: string): void {
    clearTimeout(this.helloTimer);
    clearTimeout(this.silenceTimer);
    this.transport = undefined;
    this.ready = undefined;
    for (const [id, pending] of this.pending) {
      pending.isSent = false;
      if (pending.isOfConnection) {
        this.pending.delete(id);
        fail(pending, new ConnectionLost(reason));
      }
    }
    if (this.opening !== undefined && this.attempt >= this.connectAttempts) {
      const advice = this.options.reconnect === false ? "" : "; does the server run (`pi serve`), and here?";
      this.endWith(new ConnectionLost(`${reason}${advice}`));
      return;
    }
    const isLast = this.attempt >= (this.options.attempts ?? Number.POSITIVE_INFINITY);
    if (this.isClosed || this.options.reconnect === false || isLast) {
      this.endWith(new ConnectionLost(reason));
      return;
    }
    const wait = this.backoff.next();
    this.setState({ state: "offline", reason, nextAttemptMs: wait });
    this.timer = setTimeout(() => this.dial(), wait);
  }

  private get connectAttempts(): number {
    if (this.options.reconnect === false) {
      return 1;
    }
    return this.options.connectAttempts ?? Math.min(3, this.options.attempts ?? 3);
  }

  /** The server answered and did not open a connection. Another attempt may help only if an earlier one did. */
  private refused(refusal: Refused): void {
    if (this.opening !== undefined && FINAL.includes(refusal.status)) {
      this.endWith(refusal);
    } else {
      this.lost(refusal.message);
    }
  }

  /** There will be no connection any more. */
  private endWith(error: Error, reason = error.message): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.helloTimer);
    clearTimeout(this.silenceTimer);
    const transport = this.transport;
    this.transport = undefined;
    this.ready = undefined;
    transport?.close();
    this.opening?.reject(error);
    this.opening = undefined;
    this.setState({ state: "closed", reason });
    for (const pending of [...this.pending.values()]) {
      fail(pending, error);
    }
    this.pending.clear();
  }

  private setState(state: ConnectionState): void {
    this.current = state;
    for (const listener of this.stateListeners) {
      tell(() => listener(state));
    }
  }
}

/** Answers to a first connection that no further attempt would change; others, such as 503, may pass. */
const FINAL = [400, 401, 403, 404];
/** The code of a WebSocket that is closed because a message is too large. */
const TOO_LARGE = 1009;
/** Failures that come before anything is done: the command may be said again as a new one. */
const UNTOUCHED: string[] = ["circuit_open", "bash_circuit_open"];
/** Commands that a run needs, and how long they wait at most before they are tried again. */
const URGENT: CommandName[] = ["abort", "abort_bash", "abort_compaction", "abort_retry", "extension_ui_response"];
const URGENT_MS = 1_000;
const HELLO_MS = 10_000;
/** So long a large frame may take on a slow link, where nobody can see that it comes. */
const UNSEEN_MS = 120_000;
/** Longer than servers wait between two pings. */
const SILENCE_MS = 45_000;
/** How much of something strange is shown, in characters. */
const SHOWN = 200;

/** Tells everybody who waits for a command that nothing comes of it. */
function fail(pending: Pending | undefined, error: Error): void {
  for (const { reject } of pending?.waiting ?? []) {
    reject(error);
  }
}

/** The same without members that have no value. */
function defined<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** A frame of the server, unless it is something else. */
function read(text: string): ServerMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) && hasContents(message) ? (message as unknown as ServerMessage) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a message has what is read of it here. */
function hasContents(message: Record<string, unknown>): boolean {
  switch (message.type) {
    case "server_ready":
      return isObject(message.data) && typeof message.data.protocolVersion === "string";
    case "session_snapshot":
    case "session_deleted":
    case "command_started":
      return isObject(message.data);
    case "event":
      return isObject(message.event);
    default:
      return typeof message.type === "string"; // A later server may say more than we know.
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The bytes of a text, counted exactly only if they may be more than `most`. */
function sizeUpTo(text: string, most: number): number {
  return text.length * 3 <= most ? text.length : new TextEncoder().encode(text).length;
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
