// What every stream has: the events, `destroy`, and the oldest `pipe`. Streams are functions, so that code that inherits
// with `util.inherits` and calls the constructor works as well as classes do.
//
// An "error" that nobody listens to, or a listener that throws, ends the program in Node. Here it ends the call of the host in
// which the stream was made, as that of a process does; where that is over, it is logged.
import host from "pi:host";
import { EventEmitter } from "pi:shim/node/events";

export function Stream(options) {
  EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

Stream.prototype.pipe = function (target) {
  this.on("data", (chunk) => { if (target.write(chunk) === false) this.pause?.(); });
  target.on("drain", () => this.resume?.());
  this.on("end", () => target.end());
  target.emit("pipe", this);
  return target;
};

/** An error as Node words it. */
export function fault(code, message, Kind = Error) {
  return Object.assign(new Kind(message), { code });
}

export const abortFault = (signal) => Object.assign(new Error("The operation was aborted", { cause: signal?.reason }), { name: "AbortError", code: "ABORT_ERR" });

/** `destroy` and what follows from it, for readable and writable alike. `life` is shared by the two halves of a Duplex. */
export const destroying = {
  destroy(problem, callback) {
    const life = this._life;
    if (life.destroyed) {
      callback?.(null);
      return this;
    }
    life.destroyed = true;
    if (problem) life.errored ??= problem;
    const finish = (later) => {
      const final = later ?? problem ?? null;
      if (final) life.errored ??= final;
      life.closed = true;
      callback?.(final);
      queueMicrotask(() => {
        if (final && !life.errorEmitted) {
          life.errorEmitted = true;
          try {
            if (!life.isQuiet || this.listenerCount("error") > 0) this.emit("error", final);
          } catch (thrown) {
            life.fail(thrown);
          }
        }
        if (life.emitClose && !life.closeEmitted) {
          life.closeEmitted = true;
          this.emit("close");
        }
      });
    };
    const destroyNow = () => {
      try {
        this._destroy(problem ?? null, finish);
      } catch (caught) {
        finish(caught);
      }
    };
    if (life.constructing) this.once("constructed", destroyNow);
    else destroyNow();
    return this;
  },
  _destroy(problem, callback) { callback(problem); },
  _undestroy() { Object.assign(this._life, newLife({})); },
};

export function newLife(options) {
  return { destroyed: false, closed: false, errored: null, errorEmitted: false, closeEmitted: false, emitClose: options?.emitClose !== false, fail: host.failing(), isQuiet: false, autoDestroy: options?.autoDestroy !== false, constructing: false };
}

/** Runs `_construct`, if there is one, before anything is read or written. */
export function construct(stream, then) {
  if (typeof stream._construct !== "function") return;
  stream._life.constructing = true;
  queueMicrotask(() => {
    stream._construct((problem) => {
      stream._life.constructing = false;
      stream.emit("constructed");
      if (problem) stream.destroy(problem);
      else then();
    });
  });
}

/** Methods that were handed over as options, and the signal that ends the stream. */
export function adopt(stream, options, names) {
  for (const name of names) if (typeof options?.[name] === "function") stream[`_${name}`] = options[name];
  const signal = options?.signal;
  if (!signal) return;
  const onAbort = () => stream.destroy(abortFault(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
}

export function highWaterMark(options, isObjectMode, side) {
  const given = options?.[`${side}HighWaterMark`] ?? options?.highWaterMark;
  return given ?? (isObjectMode ? 16 : 16384);
}

/** Copies methods and getters to a prototype, not enumerable. */
export function extend(prototype, members) {
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
    Object.defineProperty(prototype, name, { ...descriptor, enumerable: false });
  }
  for (const symbol of Object.getOwnPropertySymbols(members)) Object.defineProperty(prototype, symbol, { value: members[symbol], writable: true, configurable: true });
}
