// fetch, Request and Response over the host's `http`. Not here: caches, cookies and modes of a browser, and request bodies
// that are sent while they are made: a stream is read to its end first.
import host from "pi:host";
import { Body, collect, readBody } from "pi:shim/web/body";
import { Headers } from "pi:shim/web/headers";
import { ReadableStream } from "pi:shim/web/streams/readable";
import { URL } from "pi:shim/web/url";

export { Headers };
const METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]);

export class Request extends Body {
  constructor(input, init = {}) {
    const other = input instanceof Request ? input : undefined;
    const url = other ? other.url : new URL(input).href;
    const method = String(init.method ?? other?.method ?? "GET");
    const upper = method.toUpperCase();
    const content = init.body !== undefined && init.body !== null ? readBody(init.body) : other ? Body.split(other) : {};
    if ((upper === "GET" || upper === "HEAD") && (content.bytes || content.stream) && !other) throw new TypeError("Request with GET/HEAD method cannot have body.");
    super(content);
    this.headers = new Headers(init.headers ?? other?.headers);
    if (content.type && !this.headers.has("content-type")) this.headers.set("content-type", content.type);
    Object.assign(this, {
      url, method: METHODS.has(upper) ? upper : method, redirect: init.redirect ?? other?.redirect ?? "follow", signal: init.signal ?? other?.signal ?? new (host.load("pi:shim/web/abort").AbortController)().signal,
      mode: init.mode ?? other?.mode ?? "cors", credentials: init.credentials ?? "same-origin", cache: init.cache ?? "default", referrer: "about:client", integrity: "", keepalive: false, duplex: "half",
    });
  }
  clone() { return new Request(this); }
  get [Symbol.toStringTag]() { return "Request"; }
}

const NO_BODY = new Set([101, 103, 204, 205, 304]);

export class Response extends Body {
  constructor(body, init = {}) {
    const status = init.status ?? 200;
    if (!(status >= 200 && status <= 599) && !init.isReceived) throw new RangeError(`init["status"] must be in the range of 200 to 599, inclusive.`);
    if (body !== undefined && body !== null && NO_BODY.has(status) && !init.isReceived) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    const content = readBody(body);
    super(content);
    this.headers = new Headers(init.headers);
    if (content.type && !this.headers.has("content-type")) this.headers.set("content-type", content.type);
    Object.assign(this, { status, statusText: init.statusText ?? "", url: init.url ?? "", redirected: init.redirected ?? false, type: init.type ?? "default" });
  }
  get ok() { return this.status >= 200 && this.status < 300; }
  clone() {
    const { bytes, stream } = Body.split(this);
    return new Response(stream ?? bytes, { status: this.status, statusText: this.statusText, headers: this.headers, url: this.url, redirected: this.redirected, type: this.type, isReceived: true });
  }
  static json(data, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(data), { ...init, headers });
  }
  static error() { return new Response(null, { status: 0, type: "error", isReceived: true }); }
  static redirect(url, status = 302) { return new Response(null, { status, headers: { location: new URL(url).href }, isReceived: true }); }
  get [Symbol.toStringTag]() { return "Response"; }
}

const TEXTS = {
  200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
  304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required",
  403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
  413: "Payload Too Large", 415: "Unsupported Media Type", 418: "I'm a Teapot", 422: "Unprocessable Entity", 429: "Too Many Requests",
  500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
};
export const statusText = (status) => TEXTS[status] ?? "";

/** A `data:` address is answered without asking anybody. */
function inline(url) {
  const [, meta, data] = /^data:([^,]*),(.*)$/s.exec(url) ?? [];
  if (data === undefined) throw new TypeError("fetch failed", { cause: new Error("not a data URL") });
  const { Buffer } = host.load("pi:shim/node/buffer/bytes");
  const isBase64 = /;\s*base64$/i.test(meta);
  const bytes = isBase64 ? Buffer.from(decodeURIComponent(data), "base64") : Buffer.from(decodeURIComponent(data));
  return new Response(bytes, { headers: { "content-type": meta.replace(/;\s*base64$/i, "") || "text/plain;charset=US-ASCII" }, url });
}

const failed = (fault) => {
  const code = fault?.details?.errno ?? { denied: "EACCES", timeout: "ETIMEDOUT" }[fault?.code];
  return new TypeError("fetch failed", { cause: code ? Object.assign(new Error(fault.message, { cause: fault }), { code }) : fault });
};

// What nobody here could unpack is not asked for.
const unpackable = (value) => value.split(",").filter((form) => /^\s*(?:(?:x-)?gzip|deflate|br|zstd|identity)\b/i.test(form)).join(",").trim() || "identity";

/** What is sent along unless the extension says otherwise: as Node does, and some servers answer nobody who is silent about itself. */
function withDefaults(request, protocol) {
  const headers = new Headers(request.headers);
  const usual = {
    accept: "*/*", "accept-language": "*", "sec-fetch-mode": request.mode, "user-agent": "node",
    "accept-encoding": headers.has("range") ? "identity" : protocol === "https:" ? "br, gzip, deflate" : "gzip, deflate",
  };
  for (const [name, value] of Object.entries(usual)) if (!headers.has(name)) headers.set(name, value);
  return headers;
}

export async function fetch(input, init) {
  const request = new Request(input, init);
  const { signal } = request;
  signal.throwIfAborted();
  const { protocol } = new URL(request.url);
  if (protocol === "data:") return inline(request.url);
  if (protocol !== "http:" && protocol !== "https:") throw new TypeError("fetch failed", { cause: new Error(`unknown scheme ${protocol}`) });
  const content = Body.contentOf(request);
  const body = content.stream ? await collect(content.stream) : content.bytes;
  const headers = [...withDefaults(request, protocol)].map(([name, value]) => ({ name, value: name === "accept-encoding" ? unpackable(value) : value }));
  const params = { method: request.method.toUpperCase() === "PATCH" ? "PATCH" : request.method, url: request.url.replace(/#.*$/s, ""), headers, follow_redirects: request.redirect === "follow", stream: true };
  if (body) params.body = body;
  const feed = host.open("http", params, { isUnpacked: true });
  const aborted = new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => {
      feed.cancel();
      reject(signal.reason);
    }, { once: true });
  });
  aborted.catch(() => {});
  let first;
  try {
    first = await Promise.race([feed.next(), aborted]);
  } catch (fault) {
    throw signal.aborted ? signal.reason : failed(fault);
  }
  return answer(first.value, feed, request, aborted);
}

function answer(head, feed, request, aborted) {
  const isRedirect = head.status >= 300 && head.status < 400 && head.headers.some(({ name }) => name.toLowerCase() === "location");
  if (request.redirect === "error" && isRedirect) {
    feed.cancel();
    throw new TypeError("fetch failed", { cause: new Error("unexpected redirect") });
  }
  const { signal } = request;
  const stream = new ReadableStream({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await Promise.race([feed.next(), aborted]);
          if (done) return controller.close();
          if (value.item !== "piece") continue;
          return controller.enqueue(typeof value.data === "string" ? host.utf8Encode(value.data) : value.data);
        }
      } catch (fault) {
        throw signal.aborted ? signal.reason : new TypeError("terminated", { cause: fault });
      }
    },
    cancel() { feed.cancel(); },
  }, { highWaterMark: 0 });
  const hasBody = request.method !== "HEAD" && !NO_BODY.has(head.status);
  if (!hasBody) feed.next().catch(() => {});
  return new Response(hasBody ? stream : null, {
    status: head.status, statusText: statusText(head.status), headers: head.headers.map(({ name, value }) => [name, value]), url: head.url,
    redirected: head.url !== request.url.replace(/#.*$/s, ""), type: "basic", isReceived: true,
  });
}

