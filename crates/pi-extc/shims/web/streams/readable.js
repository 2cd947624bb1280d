// ReadableStream.
import { deferred, limitOf, quiet } from "pi:shim/web/streams/strategy";

const INSIDE = Symbol("inside");

export class ReadableStreamDefaultController {
  #stream;
  constructor(stream) { this.#stream = stream; }
  get desiredSize() {
    const inside = this.#stream[INSIDE];
    return inside.state === "errored" ? null : inside.state === "closed" ? 0 : inside.limit.mark - inside.size;
  }
  get byobRequest() { return null; }
  enqueue(chunk) { enqueue(this.#stream, chunk); }
  close() { close(this.#stream); }
  error(reason) { fail(this.#stream, reason); }
}

export class ReadableStream {
  constructor(source = {}, strategy) {
    const inside = { state: "readable", queue: [], size: 0, waiting: [], reader: undefined, fault: undefined, isClosing: false, isPulling: false, pullsAgain: false, isStarted: false, isDisturbed: false, source, limit: limitOf(strategy, source.type === "bytes" ? 0 : 1) };
    Object.defineProperty(this, INSIDE, { value: inside });
    inside.controller = new ReadableStreamDefaultController(this);
    const started = source.start?.(inside.controller);
    Promise.resolve(started).then(() => { inside.isStarted = true; pull(this); }, (fault) => fail(this, fault));
  }

  static from(iterable) {
    const iterator = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]?.();
    if (!iterator) throw new TypeError("the value is not iterable");
    return new ReadableStream({
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(await value);
      },
      cancel: (reason) => iterator.return?.(reason),
    }, { highWaterMark: 0 });
  }

  get locked() { return this[INSIDE].reader !== undefined; }
  getReader() { return new ReadableStreamDefaultReader(this); }
  cancel(reason) {
    if (this.locked) return Promise.reject(Object.assign(new TypeError("Invalid state: ReadableStream is locked"), { code: "ERR_INVALID_STATE" }));
    return cancel(this, reason);
  }

  tee() {
    const reader = this.getReader();
    const branches = [];
    let isBusy = false;
    const pullBoth = async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        const { value, done } = await reader.read();
        isBusy = false;
        for (const branch of branches) if (!branch.isCancelled) done ? branch.controller.close() : branch.controller.enqueue(value);
      } catch (fault) {
        for (const branch of branches) branch.controller.error(fault);
      }
    };
    const make = () => {
      const branch = { isCancelled: false };
      branches.push(branch);
      return new ReadableStream({
        start(controller) { branch.controller = controller; },
        pull: pullBoth,
        cancel(reason) {
          branch.isCancelled = true;
          return branches.every((own) => own.isCancelled) ? reader.cancel(reason) : undefined;
        },
      }, { highWaterMark: 0 });
    };
    return [make(), make()];
  }

  pipeThrough({ readable, writable }, options) {
    quiet(this.pipeTo(writable, options));
    return readable;
  }

  async pipeTo(target, { preventClose, preventAbort, preventCancel, signal } = {}) {
    const reader = this.getReader();
    const writer = target.getWriter();
    const onAbort = () => {
      if (!preventAbort) quiet(writer.abort(signal.reason));
      if (!preventCancel) quiet(reader.cancel(signal.reason));
    };
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        await writer.ready;
        const { value, done } = await reader.read();
        if (done) break;
        quiet(writer.write(value));
      }
      signal?.throwIfAborted();
      if (!preventClose) await writer.close();
    } catch (fault) {
      const isOurs = this[INSIDE].state === "errored";
      if (isOurs && !preventAbort) await quiet(writer.abort(fault)).catch(() => {});
      if (!isOurs && !preventCancel) await quiet(reader.cancel(fault)).catch(() => {});
      throw fault;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  async *values({ preventCancel = false } = {}) {
    const reader = this.getReader();
    let isDone = false;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) {
          isDone = true;
          return;
        }
        yield value;
      }
    } catch (fault) {
      isDone = true;
      throw fault;
    } finally {
      if (!isDone && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }
  [Symbol.asyncIterator](options) { return this.values(options); }
  get [Symbol.toStringTag]() { return "ReadableStream"; }
  [Symbol.for("nodejs.util.inspect.custom")]() { return `ReadableStream { locked: ${this.locked}, state: '${this[INSIDE].state}', supportsBYOB: false }`; }
}

/** Whether anybody has read from it: a body can be used once. */
export const isDisturbed = (stream) => stream[INSIDE].isDisturbed;

export class ReadableStreamDefaultReader {
  #stream;
  #closed = deferred();
  constructor(stream) {
    const inside = stream[INSIDE];
    if (inside.reader) throw Object.assign(new TypeError("Invalid state: ReadableStream is locked"), { code: "ERR_INVALID_STATE" });
    this.#stream = stream;
    inside.reader = this;
    quiet(this.#closed.promise);
    inside.onClose = () => this.#closed.resolve();
    inside.onFail = (fault) => this.#closed.reject(fault);
    if (inside.state === "closed") this.#closed.resolve();
    if (inside.state === "errored") this.#closed.reject(inside.fault);
  }
  get closed() { return this.#closed.promise; }
  read() {
    if (!this.#stream) return Promise.reject(Object.assign(new TypeError("Invalid state: The reader is not attached to a stream"), { code: "ERR_INVALID_STATE" }));
    const inside = this.#stream[INSIDE];
    inside.isDisturbed = true;
    if (inside.queue.length > 0) {
      const { chunk, size } = inside.queue.shift();
      inside.size -= size;
      if (inside.isClosing && inside.queue.length === 0) finish(this.#stream);
      else pull(this.#stream);
      return Promise.resolve({ value: chunk, done: false });
    }
    if (inside.state === "errored") return Promise.reject(inside.fault);
    if (inside.state === "closed") return Promise.resolve({ value: undefined, done: true });
    const request = deferred();
    inside.waiting.push(request);
    pull(this.#stream);
    return request.promise;
  }
  cancel(reason) {
    return this.#stream ? cancel(this.#stream, reason) : Promise.reject(new TypeError("The reader is not attached to a stream"));
  }
  releaseLock() {
    if (!this.#stream) return;
    const inside = this.#stream[INSIDE];
    for (const request of inside.waiting.splice(0)) request.reject(Object.assign(new TypeError("Releasing reader"), { code: "ERR_INVALID_STATE" }));
    inside.reader = undefined;
    this.#stream = undefined;
  }
}

function pull(stream) {
  const inside = stream[INSIDE];
  if (inside.state !== "readable" || inside.isClosing || !inside.isStarted || !inside.source.pull) return;
  if (inside.waiting.length === 0 && inside.size >= inside.limit.mark) return;
  if (inside.isPulling) {
    inside.pullsAgain = true;
    return;
  }
  inside.isPulling = true;
  let pulled;
  try {
    pulled = inside.source.pull(inside.controller);
  } catch (fault) {
    return void fail(stream, fault);
  }
  Promise.resolve(pulled).then(() => {
    inside.isPulling = false;
    if (!inside.pullsAgain) return;
    inside.pullsAgain = false;
    pull(stream);
  }, (fault) => fail(stream, fault));
}

function enqueue(stream, chunk) {
  const inside = stream[INSIDE];
  if (inside.state !== "readable" || inside.isClosing) throw Object.assign(new TypeError("Invalid state: Controller is already closed"), { code: "ERR_INVALID_STATE" });
  if (inside.waiting.length > 0) inside.waiting.shift().resolve({ value: chunk, done: false });
  else {
    const size = inside.limit.size(chunk);
    inside.queue.push({ chunk, size });
    inside.size += size;
  }
  pull(stream);
}

function close(stream) {
  const inside = stream[INSIDE];
  if (inside.state !== "readable" || inside.isClosing) throw Object.assign(new TypeError("Invalid state: Controller is already closed"), { code: "ERR_INVALID_STATE" });
  inside.isClosing = true;
  if (inside.queue.length === 0) finish(stream);
}

function finish(stream) {
  const inside = stream[INSIDE];
  if (inside.state !== "readable") return;
  inside.state = "closed";
  for (const request of inside.waiting.splice(0)) request.resolve({ value: undefined, done: true });
  inside.onClose?.();
}

function fail(stream, fault) {
  const inside = stream[INSIDE];
  if (inside.state !== "readable") return;
  Object.assign(inside, { state: "errored", fault, queue: [], size: 0 });
  for (const request of inside.waiting.splice(0)) request.reject(fault);
  inside.onFail?.(fault);
}

async function cancel(stream, reason) {
  const inside = stream[INSIDE];
  inside.isDisturbed = true;
  if (inside.state === "errored") throw inside.fault;
  if (inside.state === "closed") return;
  inside.queue = [];
  finish(stream);
  await inside.source.cancel?.(reason);
}
