import type { ErrorCode, FailureResponse, Open } from "./wire.js";

/** The server answered a command with a failure. */
export class PiError extends Error {
  override readonly name = "PiError";
  /** For programs. Absent from servers that do not say. */
  readonly code: Open<ErrorCode> | undefined;
  /** What to do about it, for people. */
  readonly hint: string | undefined;
  /** The member of the command that is to blame. */
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Whether the time of the command ran out; it is over all the same. */
  readonly timedOut: boolean;

  constructor(readonly response: FailureResponse) {
    super(response.error);
    this.code = response.code;
    this.hint = response.hint;
    this.field = response.field;
    this.retryAfterMs = response.retryAfterMs;
    this.timedOut = response.timedOut === true;
  }
}

/** There is no connection, and no more attempts are made to get one. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The token would go to another machine without TLS, where everybody on the way can read it. Nothing was sent. */
export class UnsafeToken extends Error {
  override readonly name = "UnsafeToken";

  constructor(readonly host: string) {
    super(`the token for ${host} would be readable on the way: use wss:// (or a tunnel to this machine), or say isTokenSentInTheClear: true`);
  }
}

/** The server is there and does not let this client in. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** In the server's own words. */
  readonly reason: string;
  /** What to do about it, for people. */
  readonly hint: string;

  /** `text` is what the server said: words, or an object with `error` and `hint`. */
  constructor(
    readonly status: number,
    text: string,
  ) {
    const said = told(text);
    const reason = said.error ?? text;
    const hint = ADVICE[status] ?? said.hint ?? "look at what the server writes to its log";
    super(`${reason} (HTTP ${status}): ${hint}`);
    this.reason = reason;
    this.hint = hint;
  }
}

function told(text: string): { error?: string; hint?: string } {
  try {
    const { error, hint } = JSON.parse(text) as { error?: unknown; hint?: unknown };
    return { ...(typeof error === "string" ? { error } : {}), ...(typeof hint === "string" ? { hint } : {}) };
  } catch {
    return {}; // They are words.
  }
}

const ADVICE: Record<number, string> = {
  400: "look at clientId and lifecycle, which stand in the address",
  401:
    "give the token of this server; `pi serve` says at its start in which file it is, " +
    "and it is found by itself if PI_CODING_AGENT_DIR is the server's and the server was started once",
  403: "use a name that the server knows, such as 127.0.0.1, or start it with --host NAME",
  404: "use the server's address alone, or its path /ws; is it a pi server?",
};

/** The connection was away for so long that some of the text was not heard. */
export class TextMissed extends Error {
  override readonly name = "TextMissed";

  constructor() {
    super("too much was missed while the connection was away; read the whole text with messages()");
  }
}

/** A session is listened to already, so no other place in its events can be chosen. */
export class AlreadyListening extends Error {
  override readonly name = "AlreadyListening";

  constructor(readonly sessionId: string) {
    super(`session ${sessionId} is listened to already; end that first, or use a client of its own`);
  }
}

/** The server speaks another major version of the protocol. */
export class IncompatibleServer extends Error {
  override readonly name = "IncompatibleServer";

  constructor(
    readonly serverVersion: string,
    readonly ours: string,
  ) {
    super(`the server speaks protocol ${serverVersion}, this client ${ours}`);
  }
}

/** The client was closed while something was under way. */
export class Closed extends Error {
  override readonly name = "Closed";

  constructor() {
    super("the client was closed");
  }
}
