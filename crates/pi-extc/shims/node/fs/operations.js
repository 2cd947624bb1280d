// What the file functions do, once for all their forms: every operation is a generator that yields host calls and gets
// their outputs, so the same steps run synchronously or not. Not here: links are followed and never made, and times are
// never set, because the host has no calls for them.
import host from "pi:host";
import { contentOf, flagsOf, fullPath, modeOf, optionsOf, pathText, textOrBytes } from "pi:shim/node/fs/arguments";
import { systemFault, translate } from "pi:shim/node/fs/fault";
import { Dir, Dirent, Stats } from "pi:shim/node/fs/stats";
import { bytesOf, descriptorOf, PART, put, readWhole, writeWhole } from "pi:shim/node/fs/descriptors";

/** One host call; its failure in Node's words. */
export function* ask(params, syscall, about) {
  try {
    return yield params;
  } catch (fault) {
    throw translate(fault, syscall, about);
  }
}

function* info(path, followLinks) {
  const text = pathText(path);
  const syscall = followLinks ? "stat" : "lstat";
  const { info: found } = yield* ask({ op: "stat", path: fullPath(text), follow_links: followLinks }, syscall, { path: text });
  return { text, found };
}

function* statBy(path, options, followLinks) {
  const { text, found } = yield* info(path, followLinks);
  if (found) return new Stats(found, fullPath(text), options?.bigint);
  if (options?.throwIfNoEntry === false) return undefined;
  throw systemFault("ENOENT", followLinks ? "stat" : "lstat", { path: text });
}

export const stat = (path, options) => statBy(path, optionsOf(options), true);
export const lstat = (path, options) => statBy(path, optionsOf(options), false);

export function* exists(path) {
  try {
    return (yield* info(path, true)).found !== undefined;
  } catch {
    return false;
  }
}

export function* access(path, mode = 0) {
  const { text, found } = yield* info(path, true);
  if (!found) throw systemFault("ENOENT", "access", { path: text });
  const bits = found.mode;
  const isRefused = bits !== undefined && ((mode & 1 && found.kind !== "directory" && !(bits & 0o111)) || (mode & 2 && !(bits & 0o222)));
  if (isRefused) throw systemFault("EACCES", "access", { path: text });
}

export function* readFile(path, options) {
  const { encoding } = optionsOf(options);
  if (typeof path === "number") return textOrBytes(yield* readWhole(path), encoding);
  const text = pathText(path);
  const { content } = yield* ask({ op: "read", path: fullPath(text) }, "open", { path: text });
  return textOrBytes(content, encoding);
}

export function* writeFile(path, data, options) {
  const { encoding, flag, mode } = optionsOf(options);
  const content = contentOf(data, encoding);
  if (typeof path === "number") return yield* writeWhole(path, content);
  const text = pathText(path);
  const { appends, isNew } = flagsOf(flag ?? "w");
  // From its first moment on: what is private must not be open to others while it is written.
  const begun = mode === undefined ? {} : { permissions: modeOf(mode) };
  if (appends && isNew && (yield* exists(text))) throw systemFault("EEXIST", "open", { path: text });
  const full = fullPath(text);
  if (appends && mode !== undefined && !(yield* exists(text))) yield* ask({ op: "write", path: full, content: "", mode: "create_new", ...begun }, "open", { path: text });
  yield* put(appends ? { op: "append", path: full } : { op: "write", path: full, mode: isNew ? "create_new" : "replace", ...begun }, content, "open", { path: text });
  return undefined;
}

export const appendFile = (path, data, options) => writeFile(path, data, { ...optionsOf(options), flag: optionsOf(options).flag ?? "a" });

export function* readdir(path, options) {
  const { withFileTypes, recursive } = optionsOf(options);
  const text = pathText(path);
  const found = [];
  const list = function* (folder, prefix) {
    const { entries } = yield* ask({ op: "list", path: fullPath(folder) }, "scandir", { path: folder });
    const sorted = entries.slice().sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const { name, kind } of sorted) {
      found.push(withFileTypes ? new Dirent(name, folder, kind) : prefix + name);
      if (recursive && kind === "directory") yield* list(`${folder.replace(/\/$/, "")}/${name}`, `${prefix}${name}/`);
    }
  };
  yield* list(text, "");
  return found;
}

export function* opendir(path) {
  return new Dir(pathText(path), yield* readdir(path, { withFileTypes: true }));
}

/** Gives the first folder that had to be made, if it made any. */
export function* mkdir(path, options) {
  const recursive = typeof options === "object" && options !== null && !!options.recursive;
  const mode = typeof options === "object" && options !== null ? options.mode : options;
  const text = pathText(path);
  const full = fullPath(text);
  const first = recursive ? yield* firstMissing(full) : undefined;
  if (!recursive || first !== undefined) yield* ask({ op: "make_directory", path: full, parents: recursive }, "mkdir", { path: text });
  else if ((yield* info(text, true)).found?.kind !== "directory") throw systemFault("EEXIST", "mkdir", { path: text });
  if (mode !== undefined && (!recursive || first !== undefined)) yield* chmod(text, mode);
  return first;
}

function* firstMissing(full) {
  const { dirname } = host.load("pi:shim/node/path");
  let missing;
  for (let at = full; ; at = dirname(at)) {
    const { found } = yield* info(at, true);
    if (found || dirname(at) === at) return missing;
    missing = at;
  }
}

export function* mkdtemp(prefix, options) {
  const { basename, dirname, join } = host.load("pi:shim/node/path");
  const text = pathText(prefix, "prefix");
  const full = text.endsWith("/") ? join(text, "x").slice(0, -1) : fullPath(text);
  const folder = text.endsWith("/") ? full.slice(0, -1) : dirname(full);
  if (folder === host.place.tempDir) {
    const { path } = yield* ask({ op: "make_temporary", prefix: text.endsWith("/") ? "" : basename(full) }, "mkdtemp", { path: `${text}XXXXXX` });
    return path;
  }
  const letters = Array.from(host.unique(6), (byte) => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[byte % 62]).join("");
  yield* ask({ op: "make_directory", path: full + letters, parents: false }, "mkdtemp", { path: `${text}XXXXXX` });
  return text + letters;
}

export function* unlink(path) {
  const { text, found } = yield* info(path, false);
  if (!found) throw systemFault("ENOENT", "unlink", { path: text });
  if (found.kind === "directory") throw systemFault("EISDIR", "unlink", { path: text });
  yield* ask({ op: "remove", path: fullPath(text), recursive: false }, "unlink", { path: text });
}

export function* rmdir(path, options) {
  const { text, found } = yield* info(path, false);
  if (!found) throw systemFault("ENOENT", "rmdir", { path: text });
  if (found.kind !== "directory") throw systemFault("ENOTDIR", "rmdir", { path: text });
  if (!options?.recursive && (yield* readdir(text)).length > 0) throw systemFault("ENOTEMPTY", "rmdir", { path: text });
  yield* ask({ op: "remove", path: fullPath(text), recursive: true }, "rmdir", { path: text });
}

export function* rm(path, options) {
  const { recursive = false, force = false } = optionsOf(options);
  const { text, found } = yield* info(path, false);
  if (!found) {
    if (force) return;
    throw systemFault("ENOENT", "lstat", { path: text });
  }
  if (found.kind === "directory" && !recursive) {
    const fault = new Error(`Path is a directory: rm returned EISDIR (is a directory) ${text}`);
    throw Object.assign(fault, { name: "SystemError", code: "ERR_FS_EISDIR", errno: 21, syscall: "rm", path: text });
  }
  yield* ask({ op: "remove", path: fullPath(text), recursive: found.kind === "directory" }, "rm", { path: text });
}

export function* rename(from, to) {
  const [path, dest] = [pathText(from, "oldPath"), pathText(to, "newPath")];
  yield* ask({ op: "rename", from: fullPath(path), to: fullPath(dest) }, "rename", { path, dest });
}

export function* chmod(path, mode) {
  const text = pathText(path);
  yield* ask({ op: "set_mode", path: fullPath(text), mode: modeOf(mode) }, "chmod", { path: text });
}

export function* realpath(path) {
  const text = pathText(path);
  const { path: real } = yield* ask({ op: "resolve", path: fullPath(text) }, "lstat", { path: text });
  return real;
}

export function* readlink(path) {
  const { text, found } = yield* info(path, false);
  if (!found) throw systemFault("ENOENT", "readlink", { path: text });
  if (found.kind !== "link") throw systemFault("EINVAL", "readlink", { path: text });
  return yield* realpath(path);
}

export function* copyFile(from, to, mode = 0) {
  const [path, dest] = [pathText(from, "src"), pathText(to, "dest")];
  const { found } = yield* info(path, true);
  const first = { op: "write", path: fullPath(dest), mode: mode & 1 ? "create_new" : "replace" };
  if ((found?.size ?? 0) <= PART) {
    const { content } = yield* ask({ op: "read", path: fullPath(path) }, "copyfile", { path, dest });
    yield* put(first, content, "copyfile", { path, dest });
  } else yield* copyInParts(path, dest, first);
  if (found?.mode !== undefined && found.mode & 0o111) yield* chmod(dest, found.mode);
}

// What is large is never in memory as a whole.
function* copyInParts(path, dest, first) {
  const about = { path, dest };
  const isThere = yield* exists(dest);
  // A file that is its own copy would lose its end with its first part.
  if (first.mode === "replace" && isThere && (yield* realpath(path)) === (yield* realpath(dest))) return;
  let call = first;
  for (let offset = 0; ; ) {
    const { content } = yield* ask({ op: "read", path: fullPath(path), offset, limit: PART }, "copyfile", about);
    const part = bytesOf(content);
    if (part.length === 0) return;
    yield* ask({ ...call, content: part }, "copyfile", about);
    call = { op: "append", path: first.path };
    offset += part.length;
  }
}

export function* cp(from, to, options) {
  const { recursive = false, force = true, errorOnExist = false, filter } = optionsOf(options);
  const { join } = host.load("pi:shim/node/path");
  const [path, dest] = [pathText(from, "src"), pathText(to, "dest")];
  if (filter && !filter(path, dest)) return;
  const { found } = yield* info(path, true);
  if (!found) throw systemFault("ENOENT", "cp", { path });
  if (found.kind === "directory") {
    if (!recursive) throw Object.assign(new Error(`Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${path} is a directory (not copied)) ${path}`), { code: "ERR_FS_EISDIR", path });
    yield* mkdir(dest, { recursive: true });
    // The engine cannot compile `yield*` in the head of a loop.
    const names = yield* readdir(path);
    for (const name of names) yield* cp(join(path, name), join(dest, name), options);
    return;
  }
  if (yield* exists(dest)) {
    if (errorOnExist && !force) throw Object.assign(new Error(`Target already exists: cp returned EEXIST (${dest} already exists) ${dest}`), { code: "ERR_FS_CP_EEXIST", path: dest });
    if (!force) return;
  }
  const { dirname } = host.load("pi:shim/node/path");
  if (!(yield* exists(dirname(dest)))) yield* mkdir(dirname(dest), { recursive: true });
  yield* copyFile(path, dest);
}

export function* truncate(path, length = 0) {
  if (typeof path === "number") path = descriptorOf(path, "ftruncate").path;
  const bytes = yield* readFile(path);
  const content = new Uint8Array(length);
  content.set(bytes.subarray(0, length));
  yield* writeFile(path, content);
}

/** Seconds since 1970, as a number, in text, or as a Date; in whole milliseconds. */
function momentOf(time, name) {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime();
  const seconds = typeof time === "string" && time.trim() !== "" ? Number(time) : time;
  if (typeof seconds === "number" && !Number.isNaN(seconds)) return Number.isFinite(seconds) ? Math.floor(seconds * 1000 + 0.0005) : host.now();
  const { inspect } = host.load("pi:shim/node/util/inspect");
  throw Object.assign(new TypeError(`The "${name}" argument must be of type number or string or an instance of Date. Received ${time === null || time === undefined ? time : inspect(time)}`), { code: "ERR_INVALID_ARG_TYPE" });
}

function* setTimes(path, accessed, modified, follow_links) {
  const text = pathText(path);
  const [accessed_ms, modified_ms] = [momentOf(accessed, "atime"), momentOf(modified, "mtime")];
  yield* ask({ op: "set_times", path: fullPath(text), accessed_ms, modified_ms, follow_links }, follow_links ? "utime" : "lutime", { path: text });
}
export const utimes = (path, accessed, modified) => setTimes(path, accessed, modified, true);
export const lutimes = (path, accessed, modified) => setTimes(path, accessed, modified, false);

function* unsupported(syscall, path, reason) {
  throw systemFault("ENOSYS", syscall, { path: pathText(path), reason });
}
export const symlink = (target, path) => unsupported("symlink", path, "links cannot be made here; copy the file instead");
export const link = (existing, path) => unsupported("link", path, "links cannot be made here; copy the file instead");
export const chown = (path) => unsupported("chown", path, "owners cannot be changed here");
export const lchown = chown;
export const statfs = (path) => unsupported("statfs", path, "file systems cannot be measured here");
