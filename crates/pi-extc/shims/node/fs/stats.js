// Stats, Dirent and Dir.
import host from "pi:host";

const KINDS = { file: 0o100000, directory: 0o040000, link: 0o120000, other: 0o010000 };

const kindMethods = (Class, kindOf) => {
  const methods = { isFile: "file", isDirectory: "directory", isSymbolicLink: "link", isFIFO: "other" };
  for (const [name, kind] of Object.entries(methods)) Object.defineProperty(Class.prototype, name, { value() { return kindOf(this) === kind; }, writable: true, configurable: true });
  for (const name of ["isSocket", "isBlockDevice", "isCharacterDevice"]) Object.defineProperty(Class.prototype, name, { value: () => false, writable: true, configurable: true });
};

/** What the host says of a file. It knows one time and no owner: the other times are equal to it, the owner is who runs the host, the rest is zero. */
export class Stats {
  constructor(info, path, isBig = false) {
    const number = isBig ? (value) => BigInt(Math.trunc(value)) : (value) => value;
    const time = info.modified_ms ?? 0;
    const { uid, gid } = host.place.user ?? { uid: 0, gid: 0 };
    Object.assign(this, {
      dev: number(0), mode: number(KINDS[info.kind] | (info.mode ?? (info.kind === "directory" ? 0o755 : 0o644))), nlink: number(1),
      uid: number(uid), gid: number(gid), rdev: number(0), blksize: number(4096), ino: number(inodeOf(path)),
      size: number(info.size), blocks: number(Math.ceil(info.size / 512)),
      atimeMs: number(time), mtimeMs: number(time), ctimeMs: number(time), birthtimeMs: number(time),
    });
    if (isBig) for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[`${name}Ns`] = this[`${name}Ms`] * 1000000n;
    for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[name] = new Date(time);
  }
}
const kindOfMode = (mode) => Object.keys(KINDS).find((kind) => KINDS[kind] === (Number(mode) & 0o170000));
kindMethods(Stats, (stats) => kindOfMode(stats.mode));

// Stable for a path, so that two looks at one file agree.
function inodeOf(path) {
  let hash = 5381;
  for (let i = 0; i < path.length; i++) hash = (hash * 33 + path.charCodeAt(i)) % 2147483647;
  return hash;
}

export class Dirent {
  #kind;
  constructor(name, parent, kind) {
    this.name = name;
    this.parentPath = parent;
    this.path = parent;
    this.#kind = kind;
  }
  static kindOf(entry) { return entry.#kind; }
}
kindMethods(Dirent, Dirent.kindOf);

/** A folder that is read entry by entry; it is listed when it is opened. */
export class Dir {
  #entries;
  constructor(path, entries) {
    this.path = path;
    this.#entries = entries.slice();
  }
  readSync() { return this.#entries.shift() ?? null; }
  read(callback) {
    const entry = this.readSync();
    if (typeof callback !== "function") return Promise.resolve(entry);
    queueMicrotask(() => callback(null, entry));
    return undefined;
  }
  closeSync() {}
  close(callback) {
    if (typeof callback !== "function") return Promise.resolve();
    queueMicrotask(() => callback(null));
    return undefined;
  }
  async *[Symbol.asyncIterator]() { for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry; }
}
