// Methods and status codes, and the server that is not there.
import { statusText } from "pi:shim/web/fetch";

export const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
export const STATUS_CODES = Object.fromEntries(Array.from({ length: 400 }, (_, at) => at + 200).filter((code) => statusText(code) !== "").map((code) => [code, statusText(code)]));

/** Classes exist so that code can extend or test for them; making one fails. */
export function noServer(module) {
  const fault = (what) => Object.assign(new Error(`${module}.${what} is not available: an extension cannot accept connections; start a program that does, or use pi's own server`), { code: "ERR_NOT_AVAILABLE" });
  const closed = (name) => ({ [name]: class { constructor() { throw fault(name); } } })[name];
  return { createServer() { throw fault("createServer"); }, Server: closed("Server"), ServerResponse: closed("ServerResponse"), OutgoingMessage: closed("OutgoingMessage") };
}
