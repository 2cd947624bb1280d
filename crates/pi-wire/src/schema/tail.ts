export type CommandName = keyof CommandData;

/** Names of the commands that answer without data. */
export type SilentCommandName = {
  [Name in CommandName]: CommandData[Name] extends undefined ? Name : never;
}[CommandName];

export interface ResponseHead {
  type: "response";
  /** The session's version after the command. */
  sessionVersion?: number;
  /** The outcome of an earlier command with the same identity. */
  replayed?: true;
}

export type SuccessResponse<Name extends CommandName = CommandName> = {
  [Each in Name]: ResponseHead & { id?: string; command: Each; success: true } & (Each extends SilentCommandName
      ? { data?: undefined }
      : { data: CommandData[Each] });
}[Name];

export interface FailureResponse extends ResponseHead {
  /** As it was sent, valid or not. */
  id?: unknown;
  /** The command's type, or `unknown`. */
  command: string;
  success: false;
  /** For people. */
  error: string;
  /** For programs; absent from servers without the feature `error_codes`, maybe a new one from a later server. */
  code?: Open<ErrorCode>;
  /** The path of the field that is to blame. */
  field?: string;
  /** What to do about it. */
  hint?: string;
  retryAfterMs?: number;
  timedOut?: true;
}

export type Response<Name extends CommandName = CommandName> = SuccessResponse<Name> | FailureResponse;

/** Everything that a server sends. */
export type ServerMessage = Response | ServerEvent;
