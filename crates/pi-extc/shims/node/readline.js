// node:readline: lines of a stream. There is no terminal to an extension: questions end with its input, cursors do not move.
import { EventEmitter, on } from "pi:shim/node/events";
import { StringDecoder } from "pi:shim/node/string_decoder";

export class Interface extends EventEmitter {
  #rest = "";
  #decoder = new StringDecoder("utf8");
  #questions = [];
  constructor(input, output) {
    super();
    const options = input?.input !== undefined ? input : { input, output };
    Object.assign(this, { input: options.input, output: options.output, terminal: false, line: "", cursor: 0, closed: false, history: [] });
    this.prompted = options.prompt ?? "> ";
    const onData = (chunk) => this.#feed(typeof chunk === "string" ? chunk : this.#decoder.write(chunk));
    const onEnd = () => {
      this.#feed(this.#decoder.end());
      if (this.#rest !== "") this.#emitLine(this.#rest);
      this.#rest = "";
      this.close();
    };
    this.input?.on("data", onData).on("end", onEnd);
    this.input?.on("error", (fault) => this.emit("error", fault));
    this.#stop = () => this.input?.removeListener("data", onData).removeListener("end", onEnd);
    options.signal?.addEventListener("abort", () => this.close(), { once: true });
  }
  #stop;
  #feed(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#emitLine(line);
  }
  #emitLine(line) {
    if (this.closed) return;
    const ask = this.#questions.shift();
    if (ask) ask(line.replace(/\r$/, ""));
    else this.emit("line", line.replace(/\r$/, ""));
  }
  question(text, options, callback) {
    if (typeof options === "function") callback = options;
    this.output?.write?.(text);
    this.#questions.push(callback);
  }
  setPrompt(text) { this.prompted = text; }
  getPrompt() { return this.prompted; }
  prompt() { this.output?.write?.(this.prompted); }
  write(text) { if (text) this.#feed(text); }
  pause() { this.input?.pause(); this.emit("pause"); return this; }
  resume() { this.input?.resume(); this.emit("resume"); return this; }
  getCursorPos() { return { rows: 0, cols: 0 }; }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.#stop();
    this.input?.pause?.();
    this.emit("close");
  }
  async *[Symbol.asyncIterator]() {
    // Lines that arrive before the first step of the iteration are kept by the listener, not lost.
    for await (const [line] of this.#lines) yield line;
  }
  #lines = on(this, "line", { close: ["close"] });
  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() { this.close(); }
}
Interface.prototype.question[Symbol.for("nodejs.util.promisify.custom")] = function (text) { return new Promise((resolve) => this.question(text, resolve)); };

export const createInterface = (input, output) => new Interface(input, output);
const still = (stream, ...args) => {
  args.findLast((arg) => typeof arg === "function")?.();
  return true;
};
export const clearLine = still;
export const clearScreenDown = still;
export const cursorTo = still;
export const moveCursor = still;
export const emitKeypressEvents = () => {};

class PromiseInterface extends Interface {
  question(text) { return new Promise((resolve) => super.question(text, resolve)); }
}
export const promises = { Interface: PromiseInterface, createInterface: (input, output) => new PromiseInterface(input, output) };

export default { Interface, createInterface, clearLine, clearScreenDown, cursorTo, moveCursor, emitKeypressEvents, promises };
