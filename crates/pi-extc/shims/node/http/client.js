// The client of node:http and node:https over the host's `http`: ClientRequest, IncomingMessage, Agent. The body of a request
// is collected and sent at its end; a server, sockets and upgrades are not here.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { RequestSocket } from "pi:shim/node/http/socket";
import { Readable } from "pi:shim/node/stream/readable";
import { Writable } from "pi:shim/node/stream/writable";
import { statusText } from "pi:shim/web/fetch";
import { URL } from "pi:shim/web/url";
import { urlToHttpOptions } from "pi:shim/node/url";

export class Agent {
  constructor(options = {}) {
    this.options = { ...options };
    Object.assign(this, { maxSockets: options.maxSockets ?? Infinity, keepAlive: !!options.keepAlive, requests: {}, sockets: {}, freeSockets: {} });
  }
  destroy() {}
}

/** One header may stand for several; Node joins all but those that cannot be joined. */
const ALONE = new Set(["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "if-modified-since", "last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server", "user-agent"]);

export class IncomingMessage extends Readable {
  #feed;
  #socket;
  constructor(head, feed, socket) {
    super({ read: () => this.#pull() });
    this.#feed = feed;
    this.#socket = socket;
    // As in Node: that the other side hung up is told to whoever listens for errors, and to others as "aborted" alone.
    this._life.isQuiet = true;
    Object.assign(this, { statusCode: head.status, statusMessage: statusText(head.status), httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1, url: "", responseUrl: head.url, complete: false, aborted: false, trailers: {}, rawTrailers: [], headers: {}, headersDistinct: {}, rawHeaders: [] });
    for (const { name, value } of head.headers) {
      const key = name.toLowerCase();
      this.rawHeaders.push(name, value);
      (this.headersDistinct[key] ??= []).push(value);
      if (key === "set-cookie") (this.headers[key] ??= []).push(value);
      else if (this.headers[key] === undefined) this.headers[key] = value;
      else if (!ALONE.has(key)) this.headers[key] += `${key === "cookie" ? "; " : ", "}${value}`;
    }
  }
  get socket() { return this.#socket; }
  get connection() { return this.#socket; }
  async #pull() {
    try {
      for (;;) {
        const { done, value } = await this.#feed.next();
        this.#socket.refresh();
        if (done) {
          this.complete = true;
          this.#socket.over(false);
          return void this.push(null);
        }
        if (value.item !== "piece") continue;
        return void this.push(typeof value.data === "string" ? Buffer.from(value.data) : Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength));
      }
    } catch (fault) {
      this.destroy(Object.assign(new Error("aborted", { cause: fault }), { code: "ECONNRESET" }));
    }
  }
  _destroy(problem, callback) {
    if (!this.complete) {
      this.#feed.cancel();
      this.aborted = true;
      this.#socket.over(true);
      this.emit("aborted");
    }
    callback(problem);
  }
  setTimeout(ms, callback) {
    this.#socket.setTimeout(ms, callback);
    return this;
  }
}

function optionsOf(input, options, protocol) {
  let given = {};
  if (typeof input === "string" || input instanceof URL || (typeof input?.href === "string" && input.searchParams)) given = { ...urlToHttpOptions(new URL(String(input))), ...(typeof options === "object" ? options : {}) };
  else given = { ...input };
  const scheme = given.protocol ?? protocol;
  const name = given.hostname ?? given.host ?? "localhost";
  const port = given.port ?? given.defaultPort;
  const place = `${name.includes(":") && !name.startsWith("[") && /^[0-9a-f:]+$/i.test(name) ? `[${name}]` : name}${port ? `:${port}` : ""}`;
  const authority = given.hostname === undefined && given.host !== undefined && !port ? given.host : place;
  return { ...given, url: `${scheme}//${authority}${given.path ?? "/"}`, method: (given.method ?? "GET").toUpperCase() };
}

export class ClientRequest extends Writable {
  #headers = new Map();
  #parts = [];
  #feed;
  #socket;
  #timeout;
  constructor(options, onResponse) {
    // The body being sent is not the end of a request: it lives until its answer came.
    super({ autoDestroy: false });
    Object.assign(this, { method: options.method, path: options.path ?? "/", host: options.hostname ?? options.host, protocol: new URL(options.url).protocol, url: options.url, aborted: false, reusedSocket: false, finished: false, headersSent: false, agent: options.agent });
    // As in Node: there is none before whoever asked could listen for it.
    queueMicrotask(() => this.#meet());
    const given = options.headers ?? {};
    if (Array.isArray(given)) for (let i = 0; i + 1 < given.length; i += 2) this.setHeader(given[i], given[i + 1]);
    else for (const [name, value] of typeof given.entries === "function" ? given.entries() : Object.entries(given)) if (value !== undefined) this.setHeader(name, value);
    if (options.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
    if (onResponse) this.once("response", onResponse);
    if (options.timeout) this.setTimeout(options.timeout);
    const { signal } = options;
    const onAbort = () => this.destroy(Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { name: "AbortError", code: "ABORT_ERR" }));
    if (signal?.aborted) queueMicrotask(onAbort);
    else signal?.addEventListener("abort", onAbort, { once: true });
  }
  setHeader(name, value) {
    this.#headers.set(String(name).toLowerCase(), { name: String(name), value: Array.isArray(value) ? value.map(String) : String(value) });
    return this;
  }
  getHeader(name) { return this.#headers.get(String(name).toLowerCase())?.value; }
  hasHeader(name) { return this.#headers.has(String(name).toLowerCase()); }
  removeHeader(name) { this.#headers.delete(String(name).toLowerCase()); }
  getHeaders() { return Object.fromEntries([...this.#headers].map(([key, { value }]) => [key, value])); }
  getHeaderNames() { return [...this.#headers.keys()]; }
  getRawHeaderNames() { return [...this.#headers.values()].map(({ name }) => name); }
  get socket() { return this.#socket ?? null; }
  get connection() { return this.#socket ?? null; }
  #meet() {
    if (this.destroyed) return;
    this.#socket = new RequestSocket(this, this.protocol === "https:");
    this.#socket.on("timeout", () => this.emit("timeout"));
    if (this.#timeout !== undefined) this.#socket.setTimeout(this.#timeout);
    this.emit("socket", this.#socket);
  }
  flushHeaders() {}
  setNoDelay() {}
  setSocketKeepAlive() {}
  setTimeout(ms, callback) {
    if (callback) this.once("timeout", callback);
    this.#timeout = ms;
    this.#socket?.setTimeout(ms);
    return this;
  }
  abort() {
    this.aborted = true;
    this.emit("abort");
    this.destroy();
  }
  _write(chunk, encoding, callback) {
    this.#parts.push(chunk);
    callback();
  }
  _final(callback) {
    this.finished = true;
    callback();
    this.#send();
  }
  _destroy(problem, callback) {
    this.#socket?.over(true);
    this.#feed?.cancel();
    const isEarly = !this.res && !problem && this.#feed;
    callback(problem ?? (isEarly ? Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) : null));
  }
  async #send() {
    const headers = [...this.#headers.values()].flatMap(({ name, value }) => [value].flat().map((own) => ({ name, value: own })));
    const sent = headers.filter(({ name }) => !/^(host|content-length|connection|transfer-encoding)$/i.test(name));
    const params = { method: this.method, url: this.url, headers: sent, follow_redirects: false, stream: true };
    if (this.#parts.length > 0) params.body = new Uint8Array(Buffer.concat(this.#parts));
    this.headersSent = true;
    try {
      // Whoever wants another protocol on the connection would wait for it without an end.
      if (this.hasHeader("upgrade")) throw noUpgrade(this.getHeader("upgrade"));
      this.#feed = host.open("http", params);
      const { value: head } = await this.#feed.next();
      if (this.destroyed) return;
      this.#socket.refresh();
      this.res = new IncomingMessage(head, this.#feed, this.#socket);
      this.res.req = this;
      // An answer that nobody wants must not stay half read.
      if (!this.emit("response", this.res)) this.res.resume();
      this.res.once("close", () => this.emit("close"));
    } catch (fault) {
      this.destroy(failure(fault, new URL(this.url)));
    }
  }
}

const noUpgrade = (wanted) => Object.assign(new Error(`an extension has no sockets: a request cannot be upgraded to ${wanted}; use fetch, or start a program that connects`), { code: "ERR_NOT_AVAILABLE" });

function failure(fault, url) {
  if (fault?.name !== "HostFault") return fault;
  const code = fault.details?.errno ?? { denied: "EACCES", timeout: "ETIMEDOUT" }[fault.code] ?? "ECONNRESET";
  return Object.assign(new Error(code === "ECONNREFUSED" ? `connect ECONNREFUSED ${url.host}` : fault.message, { cause: fault }), { code, syscall: "connect", hostname: url.hostname });
}

/** `request` and `get` for one protocol. */
export function client(protocol) {
  const request = (input, options, callback) => {
    if (typeof options === "function") [callback, options] = [options, undefined];
    return new ClientRequest(optionsOf(input, options, protocol), callback);
  };
  const get = (input, options, callback) => {
    const made = request(input, options, callback);
    made.end();
    return made;
  };
  return { request, get };
}
