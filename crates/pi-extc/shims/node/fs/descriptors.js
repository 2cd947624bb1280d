// File descriptors: numbers of our own for files that are opened, with a position each. The host has no open files, so
// reading asks for a part of the file, and writing appends where it can and rewrites the file where it must.
import host from "pi:host";
import { contentOf, flagsOf, fullPath, modeOf, pathText } from "pi:shim/node/fs/arguments";
import { systemFault, translate } from "pi:shim/node/fs/fault";
import { Stats } from "pi:shim/node/fs/stats";

const open = new Map();
let next = 20;

function* ask(params, syscall, about) {
  try {
    return yield params;
  } catch (fault) {
    throw translate(fault, syscall, about);
  }
}

/** The most that one call of the host brings; what is longer goes in parts, as in Node, where a file grows while it is written too. */
export const PART = 8 * 1024 * 1024;

/** What the host hands over or is handed, as bytes. */
export const bytesOf = (content) => (typeof content === "string" ? host.utf8Encode(content) : content);

/** Puts what a file is to hold into it by the call `first`, and what is too long for that behind it. */
export function* put(first, content, syscall, about) {
  // No letter has more than three bytes for each of its units.
  if (content.length * (typeof content === "string" ? 3 : 1) <= PART) return yield* ask({ ...first, content }, syscall, about);
  const bytes = bytesOf(content);
  yield* ask({ ...first, content: bytes.subarray(0, PART) }, syscall, about);
  for (let at = PART; at < bytes.length; at += PART) yield* ask({ op: "append", path: first.path, content: bytes.subarray(at, at + PART) }, syscall, about);
  return undefined;
}

export function descriptorOf(fd, syscall) {
  if (typeof fd !== "number") throw Object.assign(new TypeError(`The "fd" argument must be of type number. Received ${fd === null || fd === undefined ? fd : `type ${typeof fd}`}`), { code: "ERR_INVALID_ARG_TYPE" });
  const found = open.get(fd);
  if (!found) throw systemFault("EBADF", syscall);
  return found;
}

export function* openFile(path, flags = "r", mode) {
  const text = pathText(path);
  const full = fullPath(text);
  const facts = flagsOf(flags ?? "r");
  const { info } = yield* ask({ op: "stat", path: full, follow_links: true }, "open", { path: text });
  if (!info && !facts.creates) throw systemFault("ENOENT", "open", { path: text });
  if (info && facts.isNew) throw systemFault("EEXIST", "open", { path: text });
  if (info?.kind === "directory" && facts.writes) throw systemFault("EISDIR", "open", { path: text });
  let size = info?.size ?? 0;
  if (!info || facts.truncates) {
    yield* ask({ op: "write", path: full, content: "", mode: facts.isNew ? "create_new" : "replace", ...(mode !== undefined && mode !== null && { permissions: modeOf(mode) }) }, "open", { path: text });
    size = 0;
  }
  const fd = next++;
  open.set(fd, { path: text, full, facts, position: 0, size });
  return fd;
}

/** Another number for the same open file: both go on from one position, and each is closed by itself. */
export function duplicate(fd) {
  const file = descriptorOf(fd, "spawn");
  const own = next++;
  open.set(own, file);
  return own;
}

export function* closeFile(fd) {
  if (fd >= 0 && fd <= 2) return;
  descriptorOf(fd, "close");
  open.delete(fd);
}

/** Fills a part of `buffer` and gives the number of bytes; a `position` leaves that of the file alone. */
export function* readAt(fd, buffer, offset = 0, length = buffer.byteLength - offset, position = null) {
  if (fd === 0) return 0;
  const file = descriptorOf(fd, "read");
  if (!file.facts.reads) throw systemFault("EBADF", "read");
  const isOwn = position === null || position === undefined || Number(position) < 0;
  const from = isOwn ? file.position : Number(position);
  if (length === 0) return 0;
  const { content } = yield* ask({ op: "read", path: file.full, offset: from, limit: length }, "read", { path: file.path });
  const bytes = bytesOf(content);
  new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(bytes, offset);
  if (isOwn) file.position += bytes.length;
  return bytes.length;
}

export function* writeAt(fd, data, position) {
  const bytes = bytesOf(contentOf(data, "utf8"));
  if (fd === 1 || fd === 2) {
    host.write(fd === 1 ? "stdout" : "stderr", host.utf8Decode(bytes, false));
    return bytes.length;
  }
  const file = descriptorOf(fd, "write");
  if (!file.facts.writes) throw systemFault("EBADF", "write");
  const isOwn = typeof position !== "number";
  const at = file.facts.appends ? file.size : isOwn ? file.position : position;
  if (at === file.size) yield* put({ op: "append", path: file.full }, bytes, "write", { path: file.path });
  else {
    const { content: before } = yield* ask({ op: "read", path: file.full }, "write", { path: file.path });
    const old = bytesOf(before);
    const whole = new Uint8Array(Math.max(old.length, at + bytes.length));
    whole.set(old);
    whole.set(bytes, at);
    yield* put({ op: "write", path: file.full, mode: "replace" }, whole, "write", { path: file.path });
  }
  file.size = Math.max(file.size, at + bytes.length);
  if (isOwn) file.position = at + bytes.length;
  return bytes.length;
}

export function* readWhole(fd) {
  if (fd === 0) return new Uint8Array(0);
  const file = descriptorOf(fd, "read");
  const { content } = yield* ask({ op: "read", path: file.full, offset: file.position }, "read", { path: file.path });
  const bytes = bytesOf(content);
  file.position += bytes.length;
  return bytes;
}

export function* writeWhole(fd, content) {
  yield* writeAt(fd, content, undefined);
}

export function* statOpen(fd, options) {
  const file = descriptorOf(fd, "fstat");
  const { info } = yield* ask({ op: "stat", path: file.full, follow_links: true }, "fstat", { path: file.path });
  if (!info) throw systemFault("ENOENT", "fstat");
  return new Stats(info, file.full, options?.bigint);
}

/** Everything that was written is with the host already. */
export function* sync(fd) {
  descriptorOf(fd, "fsync");
}
