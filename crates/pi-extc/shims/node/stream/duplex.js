// Duplex, Transform and PassThrough: both halves in one stream.
import { adopt, construct, extend, fault, Stream } from "pi:shim/node/stream/base";
import { pull, Readable, startReading } from "pi:shim/node/stream/readable";
import { startWriting, Writable, writing } from "pi:shim/node/stream/writable";

export function Duplex(options) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  Stream.call(this, options);
  startReading(this, options);
  startWriting(this, options);
  this.allowHalfOpen = options?.allowHalfOpen !== false;
  if (options?.readable === false) Object.assign(this._readableState, { ended: true, endEmitted: true });
  if (options?.writable === false) Object.assign(this._writableState, { ending: true, ended: true, finished: true });
  adopt(this, options, ["read", "write", "writev", "final", "destroy", "construct"]);
  construct(this, () => pull(this));
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
extend(Duplex.prototype, writing);
Object.defineProperty(Duplex.prototype, "destroy", { value: Writable.prototype.destroy, writable: true, configurable: true });

Duplex.from = function (source) {
  if (typeof source?.pipe === "function" && source._writableState) return source;
  if (source?.readable && source?.writable) return pair(source.readable, source.writable);
  if (typeof source === "function") {
    const input = new PassThrough({ objectMode: true });
    return pair(Readable.from(source(input)), input);
  }
  const output = source?._readableState ? source : Readable.from(typeof source?.then === "function" ? (async function* () { yield await source; })() : source);
  return pair(output, undefined);
};

Duplex.toWeb = (both) => ({ readable: Readable.toWeb(both), writable: Writable.toWeb(both) });
Duplex.fromWeb = ({ readable, writable }, options) => pair(Readable.fromWeb(readable, options), Writable.fromWeb(writable, options));

function pair(readable, writable) {
  const both = new Duplex({
    objectMode: true, writable: writable !== undefined,
    read() { readable.resume(); },
    write(chunk, encoding, callback) { writable.write(chunk, encoding, callback); },
    final(callback) { writable.end(callback); },
  });
  readable.on("data", (chunk) => { if (!both.push(chunk)) readable.pause(); });
  readable.on("end", () => both.push(null));
  readable.on("error", (problem) => both.destroy(problem));
  writable?.on("error", (problem) => both.destroy(problem));
  return both;
}

/** Every chunk goes through `_transform`; the next one waits until it was called back and the reader has room. */
export function Transform(options) {
  if (!(this instanceof Transform)) return new Transform(options);
  Duplex.call(this, { ...options, read: undefined, write: undefined, final: undefined });
  this._waiting = null;
  adopt(this, options, ["transform", "flush"]);
  if (typeof options?.final === "function") this._ownFinal = options.final;
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);

extend(Transform.prototype, {
  _transform() { throw fault("ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented"); },
  _write(chunk, encoding, callback) {
    this._transform(chunk, encoding, (problem, value) => {
      if (problem) return callback(problem);
      const hasRoom = value === undefined || value === null || this.push(value);
      if (hasRoom || this._writableState.ending || this._readableState.length < this._readableState.highWaterMark) return callback();
      this._waiting = callback;
      return undefined;
    });
  },
  _read() {
    const waiting = this._waiting;
    this._waiting = null;
    waiting?.();
  },
  _final(callback) {
    const flush = () => {
      if (typeof this._flush !== "function") {
        this.push(null);
        return callback();
      }
      return this._flush((problem, value) => {
        if (problem) return callback(problem);
        if (value !== undefined && value !== null) this.push(value);
        this.push(null);
        return callback();
      });
    };
    if (this._ownFinal) this._ownFinal((problem) => (problem ? callback(problem) : flush()));
    else flush();
  },
});

export function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
extend(PassThrough.prototype, { _transform(chunk, encoding, callback) { callback(null, chunk); } });
