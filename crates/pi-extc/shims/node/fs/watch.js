// `watch` and `watchFile` by looking again and again: the host tells no changes. A folder is compared by its listing and
// the times of what stands in it, not deeper.
import { optionsOf, pathText } from "pi:shim/node/fs/arguments";
import { systemFault } from "pi:shim/node/fs/fault";
import { run, runSync } from "pi:shim/node/fs/forms";
import { readdir, stat } from "pi:shim/node/fs/operations";
import { EventEmitter, on } from "pi:shim/node/events";
import { clearInterval, setInterval } from "pi:shim/node/timers";

const PACE = 1000;

async function look(path) {
  const seen = new Map();
  const note = async (file, name) => {
    try {
      const stats = await run(stat(file));
      seen.set(name, `${stats.mtimeMs} ${stats.size} ${stats.mode}`);
      return stats;
    } catch {
      return undefined;
    }
  };
  const own = await note(path, "");
  if (own?.isDirectory()) {
    seen.delete("");
    const names = await run(readdir(path)).catch(() => []);
    await Promise.all(names.map((name) => note(`${path}/${name}`, name)));
  }
  return { seen, own };
}

export class FSWatcher extends EventEmitter {
  #timer;
  #path;
  #before;
  #isBusy = false;
  constructor(path, { persistent = true } = {}) {
    super();
    this.#path = path;
    this.#timer = setInterval(() => this.#turn(), PACE);
    if (!persistent) this.#timer.unref();
    this.#turn();
  }
  async #turn() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { seen } = await look(this.#path);
    this.#isBusy = false;
    const before = this.#before;
    this.#before = seen;
    if (!before || !this.#timer) return;
    for (const name of new Set([...before.keys(), ...seen.keys()])) {
      if (before.get(name) === seen.get(name)) continue;
      const event = before.has(name) && seen.has(name) ? "change" : "rename";
      this.emit("change", event, name === "" ? this.#path.split("/").at(-1) : name);
    }
  }
  close() {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    queueMicrotask(() => this.emit("close"));
  }
  ref() { this.#timer?.ref(); return this; }
  unref() { this.#timer?.unref(); return this; }
}

function isThere(path) {
  try {
    runSync(stat(path));
    return true;
  } catch {
    return false;
  }
}

export function watch(path, options, listener) {
  if (typeof options === "function") [listener, options] = [options, {}];
  const given = optionsOf(options);
  if (!isThere(path)) throw systemFault("ENOENT", "watch", { path: pathText(path) });
  const watcher = new FSWatcher(pathText(path), given);
  if (listener) watcher.on("change", listener);
  given.signal?.addEventListener("abort", () => watcher.close(), { once: true });
  return watcher;
}

export async function* watchIterator(path, options) {
  const watcher = watch(path, options);
  try {
    for await (const [eventType, filename] of on(watcher, "change", { signal: options?.signal })) yield { eventType, filename };
  } finally {
    watcher.close();
  }
}

const watched = new Map();

export function watchFile(path, options, listener) {
  if (typeof options === "function") [listener, options] = [options, {}];
  const text = pathText(path);
  const emitter = watched.get(text) ?? new EventEmitter();
  emitter.on("change", listener);
  if (watched.has(text)) return emitter;
  let before;
  const turn = async () => {
    const { own } = await look(text);
    if (before && own && (before.mtimeMs !== own.mtimeMs || before.size !== own.size)) emitter.emit("change", own, before);
    before = own ?? before;
  };
  emitter.timer = setInterval(turn, options?.interval ?? 5007);
  if (options?.persistent === false) emitter.timer.unref();
  turn();
  watched.set(text, emitter);
  return emitter;
}

export function unwatchFile(path, listener) {
  const text = pathText(path);
  const emitter = watched.get(text);
  if (!emitter) return;
  if (listener) emitter.removeListener("change", listener);
  else emitter.removeAllListeners("change");
  if (emitter.listenerCount("change") > 0) return;
  clearInterval(emitter.timer);
  watched.delete(text);
}
