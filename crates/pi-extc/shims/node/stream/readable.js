// Readable: a queue of chunks that somebody pulls, with the events of Node.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { StringDecoder } from "pi:shim/node/string_decoder";
import { adopt, construct, destroying, extend, fault, highWaterMark, newLife, Stream } from "pi:shim/node/stream/base";
import { iteration } from "pi:shim/node/stream/iteration";
import { piping } from "pi:shim/node/stream/piping";

export function Readable(options) {
  if (!(this instanceof Readable)) return new Readable(options);
  Stream.call(this, options);
  startReading(this, options);
  adopt(this, options, ["read", "destroy", "construct"]);
  construct(this, () => pull(this));
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

export function startReading(stream, options) {
  const objectMode = !!(options?.objectMode || options?.readableObjectMode);
  stream._life ??= newLife(options);
  stream._readableState = {
    objectMode, highWaterMark: highWaterMark(options, objectMode, "readable"), chunks: [], length: 0, flowing: null, ended: false,
    endEmitted: false, reading: false, decoder: null, encoding: null, pipes: [], wantsReadable: false, didRead: false, scheduled: false,
    sync: false,
  };
  if (options?.encoding) stream.setEncoding(options.encoding);
}

const sizeOf = (state, chunk) => (state.objectMode ? 1 : chunk.length);

function take(stream, chunk, encoding, isFront) {
  const state = stream._readableState;
  state.reading = false;
  if (chunk === null) {
    finishInput(stream);
    return false;
  }
  if (!state.objectMode) {
    if (typeof chunk === "string") {
      if (!(state.decoder && (encoding ?? "utf8") === state.encoding)) chunk = Buffer.from(chunk, encoding);
    } else if (chunk instanceof Uint8Array) {
      if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    } else {
      stream.destroy(fault("ERR_INVALID_ARG_TYPE", `The "chunk" argument must be of type string or an instance of Buffer or Uint8Array. Received ${chunk === undefined ? "undefined" : `type ${typeof chunk}`}`, TypeError));
      return false;
    }
    if (state.decoder && typeof chunk !== "string" && !isFront) chunk = state.decoder.write(chunk);
    if (chunk.length === 0) return wantsMore(state);
  }
  if (state.ended && !isFront) {
    stream.destroy(fault("ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"));
    return false;
  }
  if (stream._life.destroyed) return false;
  const isIdle = state.flowing && state.length === 0 && !state.sync && stream.listenerCount("data") > 0 && !isFront;
  if (isIdle) stream.emit("data", chunk);
  else {
    state.chunks[isFront ? "unshift" : "push"](chunk);
    state.length += sizeOf(state, chunk);
  }
  schedule(stream);
  return wantsMore(state);
}

const wantsMore = (state) => !state.ended && (state.length < state.highWaterMark || state.length === 0);

function finishInput(stream) {
  const state = stream._readableState;
  if (state.ended) return;
  const rest = state.decoder?.end();
  if (rest) {
    state.chunks.push(rest);
    state.length += sizeOf(state, rest);
  }
  state.ended = true;
  schedule(stream);
}

/** Asks the source for more, unless it is at work or there is enough. */
export function pull(stream) {
  const state = stream._readableState;
  if (state.reading || state.ended || stream._life.destroyed || stream._life.constructing || state.length >= state.highWaterMark && state.length > 0) return;
  state.reading = true;
  state.sync = true;
  try {
    stream._read(state.highWaterMark);
  } catch (problem) {
    stream.destroy(problem);
  }
  state.sync = false;
}

// One turn of flowing, in a microtask, whoever asked and how often.
function schedule(stream) {
  const state = stream._readableState;
  if (state.scheduled) return;
  state.scheduled = true;
  queueMicrotask(() => {
    state.scheduled = false;
    turn(stream);
  });
}

function turn(stream) {
  const state = stream._readableState;
  if (stream._life.destroyed && !(state.ended && state.length === 0)) return;
  if (stream.listenerCount("readable") > 0) {
    if (state.length > 0 || state.ended && !state.endEmitted) {
      state.didRead = false;
      stream.emit("readable");
    }
    if (!state.didRead && state.length === 0) pull(stream);
  } else if (state.flowing) {
    while (state.flowing && state.length > 0 && !stream._life.destroyed) {
      const chunk = shift(state);
      stream.emit("data", chunk);
    }
    if (state.flowing && !state.ended) {
      pull(stream);
      if (state.length > 0) schedule(stream);
    }
  }
  maybeEnd(stream);
}

function shift(state) {
  const chunk = state.chunks.shift();
  state.length -= sizeOf(state, chunk);
  return chunk;
}

function maybeEnd(stream) {
  const state = stream._readableState;
  const isWatched = state.flowing || state.didRead || stream.listenerCount("readable") > 0;
  if (!state.ended || state.length > 0 || state.endEmitted || !isWatched || stream._life.errored) return;
  state.endEmitted = true;
  queueMicrotask(() => {
    if (stream._life.errored) return;
    stream.readable = false;
    stream.emit("end");
    const other = stream._writableState;
    if (other && stream.allowHalfOpen === false && !other.ending) stream.end();
    if (stream._life.autoDestroy && (!other || other.finished)) stream.destroy();
  });
}

extend(Readable.prototype, { ...destroying, ...piping, ...iteration });
extend(Readable.prototype, {
  _read() { throw fault("ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented"); },
  push(chunk, encoding) { return take(this, chunk, encoding, false); },
  unshift(chunk, encoding) { return take(this, chunk, encoding, true); },

  read(count) {
    const state = this._readableState;
    state.didRead = true;
    if (count === 0 && state.length > 0) return null;
    if (state.length === 0 || state.length < state.highWaterMark) pull(this);
    if (state.length === 0) {
      maybeEnd(this);
      return null;
    }
    if (count !== undefined && !state.objectMode && count > state.length && !state.ended) {
      state.highWaterMark = Math.max(state.highWaterMark, count);
      pull(this);
      if (count > state.length) return null;
    }
    const chunk = cut(state, count);
    if (state.flowing !== true && chunk !== null) this.emit("data", chunk);
    if (state.length === 0) schedule(this);
    return chunk;
  },

  on(event, listener) {
    Stream.prototype.on.call(this, event, listener);
    const state = this._readableState;
    if (event === "data") {
      if (state.flowing !== false && this.listenerCount("readable") === 0) this.resume();
    } else if (event === "readable") {
      state.flowing = false;
      schedule(this);
    }
    return this;
  },
  addListener(event, listener) { return this.on(event, listener); },

  pause() {
    const state = this._readableState;
    if (state.flowing !== false) {
      state.flowing = false;
      this.emit("pause");
    }
    return this;
  },
  resume() {
    const state = this._readableState;
    if (!state.flowing) {
      state.flowing = this.listenerCount("readable") === 0;
      queueMicrotask(() => this.emit("resume"));
      schedule(this);
    }
    return this;
  },
  isPaused() { return this._readableState.flowing === false; },

  setEncoding(encoding) {
    const state = this._readableState;
    state.decoder = new StringDecoder(encoding);
    state.encoding = state.decoder.encoding;
    const text = state.chunks.map((chunk) => state.decoder.write(chunk)).join("");
    state.chunks = text === "" ? [] : [text];
    state.length = text.length;
    return this;
  },

  wrap(old) {
    old.on("data", (chunk) => { if (!this.push(chunk)) old.pause?.(); });
    old.on("end", () => this.push(null));
    old.on("error", (problem) => this.destroy(problem));
    this._read = () => old.resume?.();
    return this;
  },

  get readableFlowing() { return this._readableState.flowing; },
  set readableFlowing(value) { this._readableState.flowing = value; },
  get readableLength() { return this._readableState.length; },
  get readableHighWaterMark() { return this._readableState.highWaterMark; },
  get readableObjectMode() { return this._readableState.objectMode; },
  get readableEncoding() { return this._readableState.encoding; },
  get readableEnded() { return this._readableState.endEmitted; },
  get readableAborted() { return this._life.destroyed && !this._readableState.endEmitted; },
  get readableDidRead() { return this._readableState.didRead; },
  get readable() { return !this._life.destroyed && !this._readableState.endEmitted && !this._life.errored; },
  set readable(value) {},
  get destroyed() { return this._life.destroyed; },
  set destroyed(value) { this._life.destroyed = value; },
  get closed() { return this._life.closed; },
  get errored() { return this._life.errored; },
});

function cut(state, count) {
  if (state.objectMode) return shift(state);
  const isText = state.decoder !== null;
  if (count === undefined || Number.isNaN(count) || count >= state.length) {
    const whole = isText ? state.chunks.join("") : state.chunks.length === 1 ? state.chunks[0] : Buffer.concat(state.chunks);
    state.chunks = [];
    state.length = 0;
    return whole;
  }
  const whole = isText ? state.chunks.join("") : Buffer.concat(state.chunks);
  state.chunks = [whole.slice(count)];
  state.length -= count;
  return whole.slice(0, count);
}

/** A stream of what an iterable gives; strings and Buffers are one chunk. */
Readable.from = function (source, options) {
  if (typeof source === "string" || source instanceof Uint8Array) {
    return new Readable({ objectMode: true, ...options, read() { this.push(source); this.push(null); } });
  }
  const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]?.();
  if (!iterator) throw fault("ERR_INVALID_ARG_TYPE", 'The "iterable" argument must be an instance of Iterable.', TypeError);
  let isBusy = false;
  return new Readable({
    objectMode: true, highWaterMark: 1, ...options,
    async read() {
      if (isBusy) return;
      isBusy = true;
      try {
        for (;;) {
          const { value, done } = await iterator.next();
          if (done) return void this.push(null);
          const chunk = await value;
          if (chunk === null) throw fault("ERR_STREAM_NULL_VALUES", "May not write null values to stream", TypeError);
          if (!this.push(chunk)) break;
        }
      } catch (problem) {
        this.destroy(problem);
      } finally {
        isBusy = false;
      }
    },
    destroy(problem, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(problem), callback);
    },
  });
};

Readable.fromWeb = function (web, options) {
  const reader = web.getReader();
  return new Readable({
    ...options,
    read() {
      reader.read().then(({ value, done }) => this.push(done ? null : value), (problem) => this.destroy(problem));
    },
    destroy(problem, callback) { reader.cancel(problem).then(() => callback(problem), () => callback(problem)); },
  });
};
Readable.toWeb = function (stream) {
  const { ReadableStream } = host.load("pi:shim/web/streams/readable");
  const parts = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) return controller.close();
      return controller.enqueue(value instanceof Buffer ? new Uint8Array(value) : value);
    },
    cancel(reason) { stream.destroy(reason); },
  }, { highWaterMark: 0 });
};
Readable.isDisturbed = (stream) => !!(stream?._readableState?.didRead || stream?._life?.destroyed || stream?.locked);
Readable._fromList = (count, state) => cut(state, count);
