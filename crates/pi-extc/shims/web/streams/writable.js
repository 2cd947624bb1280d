// WritableStream.
import { AbortController } from "pi:shim/web/abort";
import { deferred, limitOf, quiet } from "pi:shim/web/streams/strategy";

const INSIDE = Symbol("inside");

export class WritableStreamDefaultController {
  #stream;
  #abort;
  constructor(stream, abort) {
    this.#stream = stream;
    this.#abort = abort;
  }
  get signal() { return this.#abort.signal; }
  error(fault) { fail(this.#stream, fault); }
}

export class WritableStream {
  constructor(sink = {}, strategy) {
    const inside = { state: "writable", fault: undefined, size: 0, writer: undefined, ready: deferred(), closed: deferred(), sink, limit: limitOf(strategy, 1), tail: undefined, isClosing: false, abort: new AbortController() };
    Object.defineProperty(this, INSIDE, { value: inside });
    quiet(inside.closed.promise);
    quiet(inside.ready.promise);
    inside.controller = new WritableStreamDefaultController(this, inside.abort);
    inside.tail = quiet(Promise.resolve(sink.start?.(inside.controller)).catch((fault) => fail(this, fault)));
    if (inside.limit.mark > 0) inside.ready.resolve();
  }
  get locked() { return this[INSIDE].writer !== undefined; }
  getWriter() { return new WritableStreamDefaultWriter(this); }
  abort(reason) { return this.locked ? Promise.reject(new TypeError("the stream is locked")) : abort(this, reason); }
  close() { return this.locked ? Promise.reject(new TypeError("the stream is locked")) : close(this); }
  get [Symbol.toStringTag]() { return "WritableStream"; }
}

export class WritableStreamDefaultWriter {
  #stream;
  constructor(stream) {
    if (stream[INSIDE].writer) throw Object.assign(new TypeError("Invalid state: WritableStream is locked"), { code: "ERR_INVALID_STATE" });
    this.#stream = stream;
    stream[INSIDE].writer = this;
  }
  #inside() {
    if (!this.#stream) throw new TypeError("the writer was released");
    return this.#stream[INSIDE];
  }
  get closed() { return this.#inside().closed.promise; }
  get ready() { return this.#inside().ready.promise; }
  get desiredSize() {
    const inside = this.#inside();
    return inside.state === "errored" ? null : inside.state === "closed" ? 0 : inside.limit.mark - inside.size;
  }
  async write(chunk) {
    this.#inside();
    return write(this.#stream, chunk);
  }
  async close() {
    this.#inside();
    return close(this.#stream);
  }
  async abort(reason) {
    this.#inside();
    return abort(this.#stream, reason);
  }
  releaseLock() {
    if (this.#stream) this.#stream[INSIDE].writer = undefined;
    this.#stream = undefined;
  }
}

// Chunks go one after another: each waits for the promise of the one before.
function write(stream, chunk) {
  const inside = stream[INSIDE];
  if (inside.state === "errored") return Promise.reject(inside.fault);
  if (inside.state === "closed" || inside.isClosing) return Promise.reject(Object.assign(new TypeError("Invalid state: WritableStream is closed"), { code: "ERR_INVALID_STATE" }));
  const size = inside.limit.size(chunk);
  inside.size += size;
  if (inside.size >= inside.limit.mark) {
    inside.ready.resolve();
    inside.ready = deferred();
    quiet(inside.ready.promise);
  }
  const done = inside.tail.then(async () => {
    if (inside.state === "errored") throw inside.fault;
    await inside.sink.write?.(chunk, inside.controller);
    inside.size -= size;
    if (inside.size < inside.limit.mark || inside.size === 0) inside.ready.resolve();
  });
  inside.tail = done.catch((fault) => fail(stream, fault));
  return done;
}

function close(stream) {
  const inside = stream[INSIDE];
  if (inside.state !== "writable" || inside.isClosing) return Promise.reject(inside.fault ?? Object.assign(new TypeError("Invalid state: WritableStream is closed"), { code: "ERR_INVALID_STATE" }));
  inside.isClosing = true;
  const done = inside.tail.then(async () => {
    if (inside.state === "errored") throw inside.fault;
    await inside.sink.close?.();
    inside.state = "closed";
    inside.closed.resolve();
  });
  inside.tail = done.catch((fault) => fail(stream, fault));
  return done;
}

function fail(stream, fault) {
  const inside = stream[INSIDE];
  if (inside.state !== "writable") return;
  inside.state = "errored";
  inside.fault = fault;
  inside.closed.reject(fault);
  inside.ready.reject(fault);
}

async function abort(stream, reason) {
  const inside = stream[INSIDE];
  if (inside.state !== "writable") return;
  inside.abort.abort(reason);
  fail(stream, reason);
  await inside.sink.abort?.(reason);
}
