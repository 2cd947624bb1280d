// The package undici, whose own way into the network is sockets: `fetch` and `request` over the host's `http`. Dispatchers can be made
// and do nothing, because it is the host that connects.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { fault } from "pi:shim/node/stream/base";
import { Readable } from "pi:shim/node/stream/readable";
import { fetch as plainFetch, Headers, Request, Response } from "pi:shim/web/fetch";
import { FormData } from "pi:shim/web/form";
import { URL } from "pi:shim/web/url";

export { FormData, Headers, Request, Response };
export const fetch = (input, { dispatcher, ...init } = {}) => plainFetch(input, init);

let hasWarned = false;
function warn() {
  if (!hasWarned) host.warn("a dispatcher of undici does nothing here: the host connects, by the proxies and certificates of its own settings");
  hasWarned = true;
}
const dispatcher = (name) => ({ [name]: class {
  constructor(options) {
    // Whoever only collects connections loses nothing.
    if (name.includes("Proxy") || options?.connect !== undefined) warn();
  }
  async close() {}
  async destroy() {}
  compose() { return this; }
  on() { return this; }
  once() { return this; }
  off() { return this; }
} })[name];
export const [Agent, Client, Dispatcher, EnvHttpProxyAgent, Pool, BalancedPool, ProxyAgent, RetryAgent] = ["Agent", "Client", "Dispatcher", "EnvHttpProxyAgent", "Pool", "BalancedPool", "ProxyAgent", "RetryAgent"].map(dispatcher);
let current = new Agent();
export const getGlobalDispatcher = () => current;
export function setGlobalDispatcher(other) {
  if (other === null || typeof other !== "object") throw Object.assign(fault("UND_ERR_INVALID_ARG", "Argument agent must implement Agent"), { name: "InvalidArgumentError" });
  current = other;
}

const ERRORS = {
  UndiciError: "UND_ERR", ConnectTimeoutError: "UND_ERR_CONNECT_TIMEOUT", HeadersTimeoutError: "UND_ERR_HEADERS_TIMEOUT", BodyTimeoutError: "UND_ERR_BODY_TIMEOUT", RequestAbortedError: "UND_ERR_ABORTED", SocketError: "UND_ERR_SOCKET",
  InvalidArgumentError: "UND_ERR_INVALID_ARG", ResponseStatusCodeError: "UND_ERR_RESPONSE_STATUS_CODE", ClientDestroyedError: "UND_ERR_DESTROYED", ClientClosedError: "UND_ERR_CLOSED",
};
export const errors = {};
for (const [name, code] of Object.entries(ERRORS)) {
  const Parent = errors.UndiciError ?? Error;
  errors[name] = { [name]: class extends Parent {
    constructor(message) {
      super(message);
      Object.assign(this, { name, code });
    }
  } }[name];
}

/** The body of an answer: a stream that can also be read as a whole. */
function bodyOf(response) {
  const body = Readable.from(response.body ?? [], { objectMode: false });
  const whole = async () => new Response(Buffer.concat(await body.toArray()), { headers: response.headers });
  for (const form of ["text", "json", "arrayBuffer", "blob", "formData", "bytes"]) Object.defineProperty(body, form, { value: async () => (await whole())[form](), enumerable: false });
  body.dump = async () => void body.resume();
  return body;
}
function headersOf(response) {
  const headers = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie?.() ?? [];
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return headers;
}
const sent = (body) => (typeof body?.pipe === "function" ? Readable.toWeb(body) : body);

export async function request(url, { method = "GET", headers, body, query, signal, throwOnError = false, maxRedirections = 0 } = {}) {
  const target = new URL(url);
  for (const [name, value] of Object.entries(query ?? {})) for (const one of [value].flat()) target.searchParams.append(name, one);
  // A list holds names and values in turn.
  const given = Array.isArray(headers) ? headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : [])) : headers;
  const response = await plainFetch(target, { method, headers: given, body: sent(body), signal, redirect: maxRedirections > 0 ? "follow" : "manual" });
  if (throwOnError && response.status >= 400) throw Object.assign(new errors.ResponseStatusCodeError(`Response status code ${response.status}${response.statusText ? `: ${response.statusText}` : ""}`), { statusCode: response.status, status: response.status, headers: headersOf(response) });
  return { statusCode: response.status, headers: headersOf(response), body: bodyOf(response), trailers: {}, opaque: null, context: {} };
}

export default {
  Agent, BalancedPool, Client, Dispatcher, EnvHttpProxyAgent, errors, fetch, FormData, getGlobalDispatcher, Headers, Pool, ProxyAgent, Request, request, Response, RetryAgent, setGlobalDispatcher,
  [Symbol.for("pi.remedy")]: "of undici there are fetch and request: an extension has no sockets",
};
