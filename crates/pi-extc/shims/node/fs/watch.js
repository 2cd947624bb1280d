// `watch` and `watchFile` by looking again and again: the host tells no changes. A folder is compared by its listing and
// the times of what stands in it; with `recursive` also of what stands deeper, as far as that is not too much to look at.
import host from "pi:host";
import { optionsOf, pathText } from "pi:shim/node/fs/arguments";
import { systemFault } from "pi:shim/node/fs/fault";
import { run, runSync } from "pi:shim/node/fs/forms";
import { readdir, stat } from "pi:shim/node/fs/operations";
import { EventEmitter, on } from "pi:shim/node/events";
import { clearInterval, setInterval } from "pi:shim/node/timers";

const PACE = 1000;
// Each is a call of the host, every time.
const MOST_SEEN = 1000;

async function look(path, isDeep = false) {
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
  let isCut = false;
  if (own?.isDirectory()) {
    seen.delete("");
    const folders = [""];
    while (folders.length > 0 && !isCut) {
      const folder = folders.shift();
      const names = await run(readdir(folder === "" ? path : `${path}/${folder}`)).catch(() => []);
      const inside = names.map((name) => (folder === "" ? name : `${folder}/${name}`));
      isCut = isDeep && seen.size + inside.length > MOST_SEEN;
      const noted = isCut ? inside.slice(0, MOST_SEEN - seen.size) : inside;
      const found = await Promise.all(noted.map(async (name) => [name, await note(`${path}/${name}`, name)]));
      if (isDeep) for (const [name, stats] of found) if (stats?.isDirectory()) folders.push(name);
    }
  }
  return { seen, own, isCut };
}

/** What stands in a folder at this moment; nothing of what is none. */
function namesIn(path) {
  try {
    return new Set(runSync(readdir(path)));
  } catch {
    return undefined;
  }
}

export class FSWatcher extends EventEmitter {
  #timer;
  #path;
  #before;
  #isDeep;
  #isBusy = false;
  /** What was there when somebody began to watch: the first look is over a little later. */
  #first;
  constructor(path, { persistent = true, recursive = false } = {}) {
    super();
    this.#path = path;
    this.#isDeep = recursive;
    this.#first = namesIn(path);
    this.#timer = setInterval(() => this.#turn(), PACE);
    if (!persistent) this.#timer.unref();
    this.#turn();
  }
  async #turn() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { seen, isCut } = await look(this.#path, this.#isDeep);
    this.#isBusy = false;
    if (isCut && !this.#before) host.warn(`fs.watch looks at no more than ${MOST_SEEN} files in ${this.#path}: changes of others are not told`);
    const before = this.#before ?? this.#atFirst(seen);
    this.#before = seen;
    if (!this.#timer) return;
    for (const name of new Set([...before.keys(), ...seen.keys()])) {
      if (before.get(name) === seen.get(name)) continue;
      const event = before.has(name) && seen.has(name) ? "change" : "rename";
      this.emit("change", event, name === "" ? this.#path.split("/").at(-1) : name);
    }
  }
  #atFirst(seen) {
    if (this.#first === undefined) return seen;
    return new Map([...seen].filter(([name]) => this.#first.has(name.split("/")[0])));
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
