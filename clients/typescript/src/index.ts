/** Talks to a pi server. Start with {@link PiClient}. */

export { PiClient, type ClientOptions, type CommandOf, type ConnectionState, type RequestOptions } from "./client.js";
export { type AskOptions } from "./ask.js";
export { Session, type Position, type SessionListener, type SubscribeOptions } from "./session.js";
export { PiError, ConnectionLost, Refused, UnsafeToken, IncompatibleServer, Closed, TextMissed, AlreadyListening } from "./errors.js";
export { outputSoFar } from "./output.js";
export { newId } from "./identity.js";
export { webSocket, type Transport, type TransportListener, type TransportFactory } from "./transport.js";
export type * from "./wire.js";
export { PROTOCOL_VERSION, COMMANDS, FEATURES, RETRY } from "./wire.js";
