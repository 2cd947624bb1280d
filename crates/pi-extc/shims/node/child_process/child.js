// ChildProcess: a streamed `exec` with Node's streams and events.
//
// Input that has ended when the process starts, a moment after it was asked for, is a part of what is asked and recorded; any
// other is written to the process while it runs. Signals reach the process itself, a number below 0 its group, and SIGKILL all that
// it started; its number is our own, known to `process.kill` of this extension only. What is thrown while it is told of, such as an "error" that nobody listens to, ends
// the call of the host in which it was started: Node ends the program.
import host from "pi:host";
import { EventEmitter } from "pi:shim/node/events";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { paramsOf, startFault } from "pi:shim/node/child_process/command";
import { stdioOf } from "pi:shim/node/child_process/stdio";
import { closeFile, readWhole, writeAt } from "pi:shim/node/fs/descriptors";
import { run } from "pi:shim/node/fs/forms";
import { Readable } from "pi:shim/node/stream/readable";
import { Writable } from "pi:shim/node/stream/writable";
import { setImmediate } from "pi:shim/node/timers";

const alive = new Map();
let lastNumber = 2 ** 30;

export class ChildProcess extends EventEmitter {
  #feed;
  #input;
  #wanted;
  // What it was told before it was asked for.
  #told = [];
  // The files that the process was given, as numbers of its own.
  #files;
  constructor(shape) {
    super();
    const { file, args, options } = shape;
    const { kinds: [input, output, errors], files } = stdioOf(options.stdio);
    this.#files = files;
    this.spawnfile = file;
    this.spawnargs = [options.argv0 ?? file, ...args];
    this.pid = ++lastNumber;
    this.exitCode = null;
    this.signalCode = null;
    this.killed = false;
    this.connected = false;
    this.stdin = input === "pipe" ? this.#inputStream() : null;
    this.stdout = output === "pipe" ? outputStream() : null;
    this.stderr = errors === "pipe" ? outputStream() : null;
    this.stdio = [this.stdin, this.stdout, this.stderr];
    this.#wanted = { stdin: input, stdout: output, stderr: errors };
    alive.set(this.pid, this);
    options.signal?.addEventListener("abort", () => this.#abort(options), { once: true });
    const fail = host.failing();
    setImmediate(() => this.#start(shape).catch(fail));
    if (options.signal?.aborted) setImmediate(() => this.#abort(options));
  }

  #inputStream() {
    const input = { parts: [], isEnded: false, written: undefined };
    this.#input = input;
    return new Writable({
      write: (chunk, encoding, callback) => {
        if (input.written === undefined) input.parts.push(chunk);
        else return void this.#write(chunk).then(() => callback(), () => callback(this.stdin.destroyed ? undefined : brokenPipe()));
        return callback();
      },
      final: (callback) => {
        input.isEnded = true;
        input.written?.then(() => this.#feed.end(), () => undefined);
        callback();
      },
    });
  }

  // Pieces go one after the other.
  #write(chunk) {
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const written = this.#input.written.then(() => this.#feed.write(bytes));
    this.#input.written = written;
    written.catch(() => undefined);
    return written;
  }

  async #start(shape) {
    const input = this.#input;
    let early = input && input.parts.length > 0 ? new Uint8Array(Buffer.concat(input.parts)) : undefined;
    const isWritten = input !== undefined && !input.isEnded;
    let exit = { killed: false };
    try {
      if (typeof this.#wanted.stdin === "number") early = await run(readWhole(this.#wanted.stdin));
      this.#feed = host.open("exec", paramsOf(shape, { stdin: isWritten ? undefined : early, isStream: true }), { isWritten });
      if (isWritten) {
        input.written = Promise.resolve();
        if (early) this.#write(early);
      }
      for (const [name, isGroup] of this.#told.splice(0)) this.#feed.signal(name, isGroup);
      let isAnnounced = false;
      const announce = () => { if (!isAnnounced) { isAnnounced = true; this.emit("spawn"); } };
      for (let { done, value } = await this.#feed.next(); !done; { done, value } = await this.#feed.next()) {
        announce();
        // The first piece has no bytes: it says that the process runs.
        if (value.item === "piece" && value.data.length > 0) await this.#deliver(value);
        else if (value.item === "end" && value.exit) exit = value.exit;
      }
      announce();
    } catch (fault) {
      return this.#fail(startFault(fault, "spawn", shape));
    }
    return this.#finish(exit, shape.options);
  }

  async #deliver({ channel, data }) {
    const [stream, wanted] = [this[channel], this.#wanted[channel]];
    if (stream) {
      if (!stream.push(typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength))) await stream.room();
    } else if (typeof wanted === "number") await run(writeAt(wanted, data));
    else if (wanted === "inherit") host.write(channel, typeof data === "string" ? data : host.utf8Decode(data, false));
  }

  #letGo() {
    alive.delete(this.pid);
    for (const file of this.#files.splice(0)) run(closeFile(file));
  }

  #fail(problem) {
    this.#letGo();
    this.#feed?.cancel();
    this.pid = undefined;
    this.stdin?.destroy();
    for (const stream of [this.stdout, this.stderr]) stream?.push(null);
    for (const stream of [this.stdout, this.stderr]) stream?.resume();
    setImmediate(() => this.emit("close", problem.errno ?? -1, null));
    this.emit("error", problem);
  }

  #finish(exit, options) {
    this.#letGo();
    const isEnded = exit.code === undefined;
    this.exitCode = isEnded ? null : exit.code;
    this.signalCode = isEnded ? (exit.signal ?? this.signal ?? options.killSignal ?? "SIGTERM") : null;
    if (exit.killed && isEnded) this.killed = true;
    this.stdin?.destroy();
    this.emit("exit", this.exitCode, this.signalCode);
    const outputs = [this.stdout, this.stderr].filter((stream) => stream !== null);
    let open = outputs.length;
    const closed = () => { if (open-- <= 1) this.emit("close", this.exitCode, this.signalCode); };
    for (const stream of outputs) {
      stream.once("close", closed);
      stream.push(null);
      // Output that nobody reads must not keep the process from being over.
      if (stream.readableFlowing === null && stream.listenerCount("readable") === 0) stream.resume();
    }
    if (outputs.length === 0) setImmediate(closed);
  }

  #abort({ signal, killSignal }) {
    if (this.exitCode !== null || this.signalCode !== null) return;
    this.kill(killSignal);
    this.emit("error", Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { name: "AbortError", code: "ABORT_ERR" }));
  }

  /** Tells the process something; `0` only asks whether it runs. */
  kill(signal) {
    return this.#tell(signal, false);
  }

  /** The same for all of its group. */
  static killGroup(child, signal) {
    return child.#tell(signal, true);
  }

  #tell(signal, isGroup) {
    const name = signal === 0 ? undefined : nameOf(signal ?? "SIGTERM");
    const isAlive = this.exitCode === null && this.signalCode === null && this.pid !== undefined;
    if (name === undefined || !isAlive) return isAlive;
    this.killed = true;
    this.signal = name;
    if (this.#feed) this.#feed.signal(name, isGroup);
    else this.#told.push([name, isGroup]);
    return true;
  }

  ref() {}
  unref() {}
  send() { throw noChannel(); }
  disconnect() { throw noChannel(); }
  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() { this.kill(); }
}

const brokenPipe = () => Object.assign(new Error("write EPIPE"), { code: "EPIPE", errno: -32, syscall: "write" });
const noChannel = () => Object.assign(new Error("processes of an extension have no message channel; use stdin and stdout"), { code: "ERR_IPC_CHANNEL_CLOSED" });

function nameOf(signal) {
  const { signals } = host.load("pi:shim/node/os").constants;
  const name = typeof signal === "string" ? signal.toUpperCase() : Object.keys(signals).find((own) => signals[own] === signal);
  if (name !== undefined && Object.hasOwn(signals, name)) return name;
  throw Object.assign(new TypeError(`Unknown signal: ${signal}`), { code: "ERR_UNKNOWN_SIGNAL" });
}

/** A stream that others push to, with a promise of room for those who want to go at its pace. */
function outputStream() {
  let wake;
  const stream = new Readable({ read() { wake?.(); wake = undefined; } });
  stream.room = () => new Promise((resolve) => {
    wake = resolve;
    stream.once("close", resolve);
  });
  return stream;
}

/** `process.kill` for the processes of this extension. A negative number means the group. */
export function killByNumber(pid, signal) {
  const child = alive.get(Math.abs(pid));
  if (child) return pid < 0 ? ChildProcess.killGroup(child, signal) : child.kill(signal);
  if (signal === 0 && Math.abs(pid) === host.place.pid) return true;
  const { systemFault } = host.load("pi:shim/node/fs/fault");
  const isForeign = Math.abs(pid) <= 2 ** 30;
  throw systemFault(isForeign ? "EPERM" : "ESRCH", "kill", { reason: isForeign ? "an extension can only signal processes that it started" : undefined });
}
