import { shim } from "./setup.js";
import assert from "node:assert/strict";
import http from "node:http";
import test, { after, before } from "node:test";
import { same } from "./differ.js";

const [fetches, streams, aborts, blobs, forms, clone, encoding, intl, base64, headers, web] = await Promise.all(["web/fetch", "web/streams", "web/abort", "web/blob", "web/form", "web/clone", "web/encoding", "web/intl", "web/base64", "web/headers", "web/crypto"].map(shim));
const ourHttp = (await shim("node/http")).default;
let server;
let base;
before(async () => {
  server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (chunk) => parts.push(chunk));
    request.on("end", () => {
      if (request.url === "/never") return undefined;
      if (request.url === "/slow") return void response.write("begun");
      if (request.url === "/cut") return void response.write("begun", () => response.destroy());
      if (request.url === "/moved") return void response.writeHead(302, { location: "/echo" }).end();
      if (request.url === "/missing") return void response.writeHead(404, { "x-a": "1" }).end("no");
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ method: request.method, url: request.url, type: request.headers["content-type"], own: request.headers["x-own"], body: Buffer.concat(parts).toString() }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => { server.closeAllConnections(); server.close(); });

/** The same request with ours and with Node's fetch. */
async function both(path, init) {
  const seen = [];
  for (const fetch_ of [fetches.fetch, fetch]) {
    const response = await fetch_(`${base}${path}`, init);
    seen.push([response.status, response.statusText, response.ok, response.redirected, response.url, response.headers.get("x-a"), await response.text()]);
  }
  assert.deepEqual(seen[0], seen[1]);
}
test("fetch: methods, bodies, headers, redirects, errors", async () => {
  await both("/echo");
  await both("/echo", { method: "POST", body: JSON.stringify({ a: 1 }), headers: { "content-type": "application/json", "X-Own": "yes" } });
  await both("/echo", { method: "put", body: new URLSearchParams({ a: "b c" }).toString() });
  await both("/echo", { method: "DELETE" });
  await both("/moved");
  await both("/missing");
});
test("fetch: forms, streams and reading twice", async () => {
  const form = new forms.FormData();
  form.append("a", "1");
  form.append("f", new blobs.File(["data"], "x.txt", { type: "text/plain" }));
  const answer = await (await fetches.fetch(`${base}/echo`, { method: "POST", body: form })).json();
  assert.match(answer.type, /^multipart\/form-data; boundary=/);
  assert.match(answer.body, /name="f"; filename="x.txt"\r\nContent-Type: text\/plain\r\n\r\ndata/);
  const response = await fetches.fetch(`${base}/echo`);
  const copy = response.clone();
  let text = "";
  for await (const part of response.body.pipeThrough(new encoding.TextDecoderStream())) text += part;
  assert.deepEqual(JSON.parse(text), await copy.json());
  await assert.rejects(response.text(), /Body is unusable/);
});
test("undici: fetch, request, dispatchers, errors", async () => {
  const [own, { Readable }] = [await shim("web/undici"), await shim("node/stream")];
  assert.equal((await (await own.fetch(`${base}/echo`, { dispatcher: new own.Agent() })).json()).method, "GET");
  const { statusCode, headers, body } = await own.request(`${base}/echo`, { method: "POST", query: { a: "b" }, headers: ["x-own", "1"], body: Readable.from(["te", "xt"]) });
  const told = await body.json();
  assert.deepEqual([statusCode, typeof headers, told.method, told.body, told.own, told.url], [200, "object", "POST", "text", "1", "/echo?a=b"]);
  let text = "";
  for await (const part of (await own.request(`${base}/echo`)).body) text += part;
  assert.equal(JSON.parse(text).method, "GET");
  await assert.rejects(own.request(`${base}/missing`, { throwOnError: true }), { code: "UND_ERR_RESPONSE_STATUS_CODE", statusCode: 404 });
  own.setGlobalDispatcher(new own.ProxyAgent("http://proxy"));
  assert.ok(own.getGlobalDispatcher() instanceof own.ProxyAgent);
  assert.throws(() => own.setGlobalDispatcher(5), { code: "UND_ERR_INVALID_ARG" });
  assert.ok(new own.errors.RequestAbortedError("x") instanceof own.errors.UndiciError);
});
test("tls: a socket can be made around a stream, and is none", async () => {
  const [{ TLSSocket }, { PassThrough }] = [await shim("node/tls"), await shim("node/stream")];
  const socket = new TLSSocket(new PassThrough());
  assert.equal(typeof socket._handle._parentWrap.constructor, "function");
  assert.throws(() => socket.connect(443), { code: "ERR_NOT_AVAILABLE" });
});
test("fetch: aborts before and while reading", async () => {
  await assert.rejects(fetches.fetch(`${base}/echo`, { signal: aborts.AbortSignal.abort() }), { name: "AbortError" });
  const controller = new aborts.AbortController();
  const response = await fetches.fetch(`${base}/slow`, { signal: controller.signal });
  const reading = response.text();
  setTimeout(() => controller.abort(), 10);
  await assert.rejects(reading, { name: "AbortError" });
  await assert.rejects(fetches.fetch(`${base}/slow`, { signal: aborts.AbortSignal.timeout(20) }).then((own) => own.text()), { name: "TimeoutError" });
  await assert.rejects(fetches.fetch("http://127.0.0.1:1/"), /fetch failed/);
});
test("http: request and get", async () => {
  const got = await new Promise((resolve, reject) => {
    const request = ourHttp.request(`${base}/echo?x=1`, { method: "POST", headers: { "X-Own": "h" } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => { text += chunk; });
      response.on("end", () => resolve([response.statusCode, response.headers["content-type"], JSON.parse(text)]));
    });
    request.on("error", reject);
    request.write("bo");
    request.end("dy");
  });
  assert.deepEqual(got, [200, "application/json", { method: "POST", url: "/echo?x=1", own: "h", body: "body" }]);
  // A port that was free a moment ago.
  const port = await new Promise((resolve) => { const probe = http.createServer().listen(0, "127.0.0.1", () => { const { port: own } = probe.address(); probe.close(() => resolve(own)); }); });
  const code = await new Promise((resolve) => ourHttp.get({ hostname: "127.0.0.1", port, path: "/" }).on("error", (fault) => resolve(fault.code)));
  assert.equal(code, "ECONNREFUSED");
  assert.throws(() => ourHttp.createServer(), { code: "ERR_NOT_AVAILABLE" });
});
test("fetch says who it is, as Node does, unless the extension does", async () => {
  const { opened } = await import("./host.js");
  const sent = async (init) => {
    await (await fetches.fetch(`${base}/echo`, init)).text();
    return Object.fromEntries(opened.at(-1)[1].headers.map(({ name, value }) => [name, value]));
  };
  const usual = { accept: "*/*", "accept-encoding": "gzip, deflate", "accept-language": "*", "sec-fetch-mode": "cors", "user-agent": "node" };
  assert.deepEqual(await sent({}), usual);
  assert.deepEqual(await sent({ headers: { "User-Agent": "me", range: "bytes=0-" }, mode: "no-cors" }), { ...usual, "accept-encoding": "identity", range: "bytes=0-", "sec-fetch-mode": "no-cors", "user-agent": "me" });
  await new Promise((resolve) => ourHttp.get(`${base}/echo`, (response) => response.resume().on("end", resolve)));
  assert.deepEqual(opened.at(-1)[1].headers, []);
});
test("http: the socket of a request", async () => {
  const follow = (own, path, listen) => new Promise((resolve) => {
    const seen = [];
    const request = own.get(`${base}${path}`, (response) => { seen.push("response", response.socket === request.socket); response.resume().on("end", () => { seen.push("end"); setTimeout(resolve, 5, seen); }).on("error", () => {}); });
    seen.push(request.socket);
    request.on("error", (fault) => { seen.push(fault.message); setTimeout(resolve, 5, seen); });
    listen(request, seen);
  });
  // What follow-redirects and axios do with it.
  const asTold = (request, seen) => request.once("socket", (socket) => {
    seen.push("socket", socket === request.socket, socket.destroyed);
    socket.setTimeout(5000);
    socket.removeListener("timeout", socket.destroy);
    socket.addListener("timeout", socket.destroy);
    socket.setKeepAlive(true, 60000);
    socket.setNoDelay();
  });
  const late = (request, seen) => {
    request.setTimeout(20, () => { seen.push("request late"); request.destroy(); });
    request.on("socket", (socket) => socket.on("timeout", () => seen.push("socket late")).on("close", () => seen.push("socket closed", socket.destroyed)));
  };
  const destroyed = (request, seen) => request.on("socket", (socket) => { seen.push("socket"); setTimeout(() => socket.destroy(new Error("by its socket")), 10); });
  for (const [path, listen] of [["/echo", asTold], ["/never", late], ["/never", destroyed]]) assert.deepEqual((await follow(ourHttp, path, listen)).sort(), (await follow(http, path, listen)).sort(), listen.name);
});
test("http: a request for another protocol fails, and says what to do instead", async () => {
  const fault = await new Promise((resolve, reject) => ourHttp.get(`${base}/echo`, { headers: { Connection: "Upgrade", Upgrade: "websocket" } }, reject).on("error", resolve));
  assert.deepEqual([fault.code, /no sockets.*websocket.*use fetch/.test(fault.message)], ["ERR_NOT_AVAILABLE", true]);
});
test("http: what nobody listens to", async () => {
  const { failures } = await import("./host.js");
  // An answer that is cut is an error only to those who listen for one, as in Node.
  const cut = (own, listens) => new Promise((resolve) => {
    const heard = [];
    own.get(`${base}/cut`, (response) => {
      response.resume().on("aborted", () => heard.push("aborted")).on("close", () => resolve(heard));
      if (listens) response.on("error", (fault) => heard.push(fault.code));
    }).on("error", () => {});
  });
  const before = failures.length;
  for (const listens of [false, true]) assert.deepEqual(await cut(ourHttp, listens), await cut(http, listens), String(listens));
  assert.equal(failures.length, before);
  await new Promise((resolve) => ourHttp.get("http://127.0.0.1:1/").on("close", resolve));
  assert.deepEqual(failures.slice(before).map(({ syscall }) => syscall), ["connect"]);
});
test("streams: pull, tee, transform, pace", async () => {
  const { ReadableStream, TransformStream, WritableStream } = streams;
  let pulled = 0;
  const source = () => new ReadableStream({ pull(controller) { pulled++; controller.enqueue(pulled); if (pulled === 3) controller.close(); } }, { highWaterMark: 0 });
  const [one, two] = source().tee();
  const read = async (stream) => { const all = []; for await (const chunk of stream) all.push(chunk); return all; };
  assert.deepEqual([await read(one), await read(two)], [[1, 2, 3], [1, 2, 3]]);
  pulled = 0;
  const got = [];
  await source().pipeThrough(new TransformStream({ transform: (chunk, controller) => controller.enqueue(chunk * 2), flush: (controller) => controller.enqueue("end") })).pipeTo(new WritableStream({ write: (chunk) => { got.push(chunk); } }));
  assert.deepEqual(got, [2, 4, 6, "end"]);
  const reader = new ReadableStream({ start(controller) { controller.error(new Error("bad")); } }).getReader();
  await assert.rejects(reader.read(), /bad/);
});
test("signals: any, reasons, handlers", () => {
  const [one, two] = [new aborts.AbortController(), new aborts.AbortController()];
  const any = aborts.AbortSignal.any([one.signal, two.signal]);
  let heard = 0;
  any.onabort = () => heard++;
  any.addEventListener("abort", () => heard++, { once: true });
  two.abort("why");
  two.abort("again");
  assert.deepEqual([any.aborted, any.reason, heard], [true, "why", 2]);
  assert.throws(() => any.throwIfAborted(), (fault) => fault === "why");
});
same("structuredClone", clone, globalThis, [[{ a: [1, new Date(0), /x/g, new Map([[1, { b: 2 }]]), new Set([1])] }], [new Uint8Array([1, 2])], [null], [new TypeError("t").message], [[, 1]], [{ u: undefined }], [Object(1)]], ({ structuredClone: copy }, value) => copy(value));
test("structuredClone keeps circles and refuses functions", () => {
  const value = { list: [] };
  value.list.push(value);
  const copy = clone.structuredClone(value);
  assert.ok(copy.list[0] === copy && copy !== value);
  assert.throws(() => clone.structuredClone(() => {}), { name: "DataCloneError" });
});
same("TextDecoder, other encodings", encoding, globalThis, ["utf-16le", "utf-16be", "latin1"].flatMap((label) => [[label, [0x20, 0xac, 0x20, 0x61]], [label, [0xd8, 0x3d, 0xde, 0x00]], [label, [0xfe, 0xff, 0, 0x61]]]), ({ TextDecoder: Decoder }, label, bytes) => {
  const decoder = new Decoder(label);
  const parts = bytes.map((byte) => decoder.decode(Uint8Array.of(byte), { stream: true })).join("") + decoder.decode();
  return [new Decoder(label).decode(Uint8Array.from(bytes)), parts];
});
same("TextDecoder", encoding, globalThis, [[[0xef, 0xbb, 0xbf, 0x61]], [[0xff, 0x61]], [[0xe2, 0x82, 0xac]], [[0xe2, 0x82]]], ({ TextDecoder: Decoder }, bytes) => {
  const decoder = new Decoder();
  const parts = bytes.map((byte) => decoder.decode(Uint8Array.of(byte), { stream: true })).join("") + decoder.decode();
  return [new Decoder().decode(Uint8Array.from(bytes)), parts];
});
same("base64", base64, globalThis, [["hello"], ["aGVsbG8="], ["ä"], ["a"], ["€"], [""]], ({ atob: decode, btoa: encode }, text) => { try { return [encode(text), decode(text)]; } catch (fault) { return fault.name; } });
same("Headers", headers, globalThis, [[{ "X-A": "1", b: " two " }], [[["a", "1"], ["A", "2"], ["set-cookie", "x"], ["set-cookie", "y"]]], [{ "bad name": "x" }]], ({ Headers: Own }, init) => { try { const own = new Own(init); own.append("z", "9"); return [...own, own.get("a"), own.getSetCookie()]; } catch (fault) { return fault.name; } });
const DATES = [new Date(2026, 0, 5, 9, 4, 3), new Date(2026, 10, 17, 15, 30, 0), new Date(2026, 5, 1)];
const DATE_OPTIONS = [{}, { dateStyle: "medium" }, { dateStyle: "short", timeStyle: "short" }, { dateStyle: "full" }, { month: "short", day: "numeric" }, { hour: "2-digit", minute: "2-digit" }, { year: "numeric", month: "2-digit", day: "2-digit" }, { weekday: "short" }, { hour: "numeric", hour12: false }, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }, { weekday: "long", month: "long", day: "numeric" }, { hour: "numeric", minute: "2-digit", hour12: true }, { timeZone: "UTC", timeStyle: "medium" }, { month: "long", year: "numeric" }];
same("dates in English", intl.default, Intl, DATES.flatMap((date) => DATE_OPTIONS.map((options) => [date, options])), ({ DateTimeFormat }, date, options) => new DateTimeFormat("en-US", options).format(date));
for (const [name, part] of [["toLocaleString", "all"], ["toLocaleDateString", "date"], ["toLocaleTimeString", "time"]]) {
  test(`Date ${name}`, () => { for (const date of DATES) for (const options of [undefined, ...DATE_OPTIONS.filter((own) => !own.dateStyle && !own.timeStyle)]) assert.equal(intl.localDate(date, "en-US", options, part), date[name]("en-US", options), JSON.stringify(options)); });
}
const NUMBERS = [0, 1, -1, 1234.5678, 1e6, 0.1 + 0.2, 123456789, 1.005, 999.999, -0.5, 12, 1500, 1e15, NaN, Infinity];
const NUMBER_OPTIONS = [{}, { maximumFractionDigits: 0 }, { minimumFractionDigits: 2 }, { minimumFractionDigits: 2, maximumFractionDigits: 2 }, { style: "percent" }, { style: "currency", currency: "USD" }, { style: "currency", currency: "EUR", maximumFractionDigits: 4 }, { notation: "compact" }, { useGrouping: false }, { maximumSignificantDigits: 3 }, { style: "unit", unit: "megabyte" }, { notation: "compact", maximumFractionDigits: 1 }, { signDisplay: "always" }, { minimumIntegerDigits: 2 }];
same("numbers in English", intl.default, Intl, NUMBERS.flatMap((number) => NUMBER_OPTIONS.map((options) => [number, options])), ({ NumberFormat }, number, options) => new NumberFormat("en-US", options).format(number));
const ZONES = ["UTC", "America/New_York", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe", "america/denver"];
const ZONED = [{}, { timeStyle: "short" }, { dateStyle: "medium", timeStyle: "medium" }, { hour: "numeric", timeZoneName: "short" }];
same("dates in other zones", intl.default, Intl, [0, 1752000000000, 1775000000000].flatMap((date) => ZONES.flatMap((timeZone) => ZONED.map((options) => [date, { ...options, timeZone }]))), ({ DateTimeFormat }, date, options) => [new DateTimeFormat("en-US", options).format(date), new DateTimeFormat("en-US", options).resolvedOptions().timeZone]);
test("a zone that nobody knows is refused", () => assert.throws(() => new intl.default.DateTimeFormat("en-US", { timeZone: "Mars/Olympus" }), { name: "RangeError", message: "Invalid time zone specified: Mars/Olympus" }));
const LOCALES = ["en-US", "en-GB", "en-CA", "de", "de-DE", "es", "es-ES", "fr-FR", "it-IT", "ja-JP", "nl-NL", "pt-BR", "sv-SE", "zh-CN"];
const IN_DIGITS = [undefined, { year: "numeric", month: "2-digit", day: "2-digit" }, { hour: "2-digit", minute: "2-digit" }, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }];
for (const part of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
  const word = { toLocaleString: "all", toLocaleDateString: "date", toLocaleTimeString: "time" }[part];
  same(`Date ${part} as others write it`, intl, undefined, LOCALES.flatMap((locale) => DATES.map((date) => [date, locale])), (ours, date, locale) => IN_DIGITS.slice(0, word === "date" ? 2 : 1).map((options) => (ours ? ours.localDate(date, locale, options, word) : date[part](locale, options))));
}
same("numbers as others write them", intl.default, Intl, NUMBERS.filter(Number.isFinite).flatMap((number) => LOCALES.map((locale) => [number, locale])), ({ NumberFormat }, number, locale) => [new NumberFormat(locale).format(number), NumberFormat(locale, { minimumFractionDigits: 2 }).format(number)]);
same("Intl is called with and without new", intl.default, Intl, [[]], ({ Collator, DateTimeFormat, NumberFormat }) => [DateTimeFormat().resolvedOptions().timeZone, DateTimeFormat() instanceof DateTimeFormat, NumberFormat("en").format(1234.5), Collator().compare("a", "b"), new DateTimeFormat().constructor === DateTimeFormat, DateTimeFormat.name]);
same("lists, plurals, times ago", intl.default, Intl, [[["a"]], [["a", "b"]], [["a", "b", "c"]]], ({ ListFormat, PluralRules, RelativeTimeFormat }, list) => [new ListFormat("en").format(list), new ListFormat("en", { type: "disjunction" }).format(list), [0, 1, 2, 3, 11, 22].map((n) => [new PluralRules("en").select(n), new PluralRules("en", { type: "ordinal" }).select(n)]), [-1, 0, 2].map((n) => [new RelativeTimeFormat("en").format(n, "day"), new RelativeTimeFormat("en", { numeric: "auto" }).format(n, "days"), new RelativeTimeFormat("en", { style: "short" }).format(n, "hour")])]);
same("sorting", intl.default, Intl, [[["b", "a", "B", "A", "ä", "z", "10", "2", "_x", "a1"]], [["file10", "file2", "File1"]]], ({ Collator }, list) => [[...list].sort(new Collator("en").compare), [...list].sort(new Collator("en", { numeric: true }).compare), [...list].sort(new Collator("en", { sensitivity: "base" }).compare)]);
test("crypto: digests, HMAC, random", async () => {
  const { default: ours } = web;
  const data = new TextEncoder().encode("abc");
  for (const hash of ["SHA-1", "SHA-256", "SHA-512"]) assert.deepEqual(new Uint8Array(await ours.subtle.digest(hash, data)), new Uint8Array(await crypto.subtle.digest(hash, data)));
  const sign = async (own) => new Uint8Array(await own.subtle.sign("HMAC", await own.subtle.importKey("raw", data, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]), data));
  assert.deepEqual(await sign(ours), await sign(crypto));
  assert.match(ours.randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  await assert.rejects(ours.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]), { name: "NotSupportedError" });
});
