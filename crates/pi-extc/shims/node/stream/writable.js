// Writable: chunks go to `_write` one after another, the rest waits.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { adopt, construct, destroying, extend, fault, highWaterMark, newLife, Stream } from "pi:shim/node/stream/base";

export function Writable(options) {
  if (!(this instanceof Writable) && !this?._writableState) return new Writable(options);
  Stream.call(this, options);
  startWriting(this, options);
  adopt(this, options, ["write", "writev", "final", "destroy", "construct"]);
  construct(this, () => work(this));
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);
// A Duplex counts as Writable, though it inherits from Readable.
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && object?._writableState !== undefined);
  },
});

export function startWriting(stream, options) {
  const objectMode = !!(options?.objectMode || options?.writableObjectMode);
  stream._life ??= newLife(options);
  stream._writableState = {
    objectMode, highWaterMark: highWaterMark(options, objectMode, "writable"), queue: [], length: 0, busy: false, ending: false, ended: false,
    finished: false, needDrain: false, corked: 0, defaultEncoding: options?.defaultEncoding ?? "utf8", decodeStrings: options?.decodeStrings !== false,
    finishing: false,
  };
}

function accept(stream, chunk, encoding, callback) {
  const state = stream._writableState;
  if (chunk === null) throw fault("ERR_STREAM_NULL_VALUES", "May not write null values to stream", TypeError);
  let problem;
  if (!state.objectMode) {
    if (typeof chunk === "string") {
      if (state.decodeStrings) [chunk, encoding] = [Buffer.from(chunk, encoding ?? state.defaultEncoding), "buffer"];
    } else if (chunk instanceof Uint8Array) {
      if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = "buffer";
    } else {
      throw fault("ERR_INVALID_ARG_TYPE", `The "chunk" argument must be of type string or an instance of Buffer or Uint8Array. Received ${chunk === undefined ? "undefined" : typeof chunk === "object" ? "an instance of " + (chunk.constructor?.name ?? "Object") : `type ${typeof chunk} (${String(chunk)})`}`, TypeError);
    }
  }
  if (state.ending) problem = fault("ERR_STREAM_WRITE_AFTER_END", "write after end");
  else if (stream._life.destroyed) problem = fault("ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed");
  if (problem) {
    queueMicrotask(() => callback?.(problem));
    if (problem.code === "ERR_STREAM_WRITE_AFTER_END") stream.destroy(problem);
    return false;
  }
  const size = state.objectMode ? 1 : chunk.length;
  state.length += size;
  state.queue.push({ chunk, encoding: encoding ?? state.defaultEncoding, callback, size });
  const hasRoom = state.length < state.highWaterMark;
  if (!hasRoom) state.needDrain = true;
  work(stream);
  return hasRoom && !stream._life.errored && !stream._life.destroyed;
}

function work(stream) {
  const state = stream._writableState;
  if (state.busy || state.corked > 0 || stream._life.destroyed || stream._life.constructing) return;
  if (state.queue.length === 0) return maybeFinish(stream);
  state.busy = true;
  const batch = stream._writev && state.queue.length > 1 ? state.queue.splice(0) : [state.queue.shift()];
  let isSync = true;
  const done = (problem) => {
    state.busy = false;
    state.length -= batch.reduce((sum, { size }) => sum + size, 0);
    const after = () => {
      if (problem) {
        for (const { callback } of [...batch, ...state.queue.splice(0)]) callback?.(problem);
        stream.destroy(problem);
        return;
      }
      for (const { callback } of batch) callback?.(null);
      if (state.needDrain && state.length === 0 && !state.ending && !stream._life.destroyed) {
        state.needDrain = false;
        stream.emit("drain");
      }
      maybeFinish(stream);
    };
    if (isSync) queueMicrotask(after);
    else after();
    if (!problem) work(stream);
  };
  try {
    if (batch.length > 1) stream._writev(batch.map(({ chunk, encoding }) => ({ chunk, encoding })), done);
    else stream._write(batch[0].chunk, batch[0].encoding, done);
  } catch (problem) {
    stream.destroy(problem);
  }
  isSync = false;
}

function maybeFinish(stream) {
  const state = stream._writableState;
  if (!state.ending || state.busy || state.queue.length > 0 || state.finishing || state.length > 0 || stream._life.destroyed) return;
  state.finishing = true;
  const done = (problem) => {
    if (problem) return stream.destroy(problem);
    state.finished = true;
    queueMicrotask(() => {
      if (stream._life.errored) return;
      stream.emit("finish");
      const other = stream._readableState;
      if (stream._life.autoDestroy && (!other || other.endEmitted)) stream.destroy();
    });
    return undefined;
  };
  if (typeof stream._final !== "function") return done();
  queueMicrotask(() => {
    try {
      stream._final(done);
    } catch (problem) {
      stream.destroy(problem);
    }
  });
}

export const writing = {
  _write(chunk, encoding, callback) {
    if (this._writev) this._writev([{ chunk, encoding }], callback);
    else throw fault("ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
  },
  write(chunk, encoding, callback) {
    if (typeof encoding === "function") [callback, encoding] = [encoding, undefined];
    return accept(this, chunk, encoding, callback);
  },
  end(chunk, encoding, callback) {
    if (typeof chunk === "function") [callback, chunk, encoding] = [chunk, undefined, undefined];
    else if (typeof encoding === "function") [callback, encoding] = [encoding, undefined];
    const state = this._writableState;
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (state.corked > 0) {
      state.corked = 1;
      this.uncork();
    }
    if (callback) {
      if (state.finished) queueMicrotask(() => callback(state.ended ? fault("ERR_STREAM_ALREADY_FINISHED", "Cannot call end after a stream was finished") : undefined));
      else {
        this.once("finish", callback);
        this.once("error", callback);
      }
    }
    if (!state.ending && !this._life.destroyed) {
      state.ending = true;
      state.ended = true;
      maybeFinish(this);
    }
    return this;
  },
  cork() { this._writableState.corked++; },
  uncork() {
    const state = this._writableState;
    if (state.corked > 0 && --state.corked === 0) work(this);
  },
  setDefaultEncoding(encoding) {
    this._writableState.defaultEncoding = encoding.toLowerCase();
    return this;
  },
  get writable() { return !this._life.destroyed && !this._writableState.ending && !this._life.errored; },
  set writable(value) {},
  get writableLength() { return this._writableState.length; },
  get writableHighWaterMark() { return this._writableState.highWaterMark; },
  get writableObjectMode() { return this._writableState.objectMode; },
  get writableEnded() { return this._writableState.ending; },
  get writableFinished() { return this._writableState.finished; },
  get writableCorked() { return this._writableState.corked; },
  get writableNeedDrain() { return this._writableState.needDrain && !this._life.destroyed; },
};

extend(Writable.prototype, destroying);
extend(Writable.prototype, writing);
extend(Writable.prototype, {
  pipe() { this.emit("error", fault("ERR_STREAM_CANNOT_PIPE", "Cannot pipe, not readable")); },
  get destroyed() { return this._life.destroyed; },
  set destroyed(value) { this._life.destroyed = value; },
  get closed() { return this._life.closed; },
  get errored() { return this._life.errored; },
});
Writable.prototype.destroy = function (problem, callback) {
  const state = this._writableState;
  const left = this._life.destroyed ? [] : state.queue.splice(0);
  const result = destroying.destroy.call(this, problem, callback);
  for (const { callback: told } of left) told?.(problem ?? fault("ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed"));
  return result;
};

Writable.fromWeb = function (web, options) {
  const writer = web.getWriter();
  return new Writable({
    ...options,
    write(chunk, encoding, callback) { writer.write(chunk).then(() => callback(), callback); },
    final(callback) { writer.close().then(() => callback(), callback); },
  });
};
Writable.toWeb = function (stream) {
  const { WritableStream } = host.load("pi:shim/web/streams/writable");
  // An error of the stream is that of whatever is under way; without one it is that of the next write.
  stream.on("error", () => {});
  return new WritableStream({
    write: (chunk) => new Promise((resolve, reject) => { stream.write(chunk, (problem) => (problem ? reject(problem) : resolve())); }),
    close: () => new Promise((resolve, reject) => { stream.once("error", reject).end(resolve); }),
    abort(reason) { stream.destroy(reason); },
  });
};
