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
