// node:fs: every function in its forms. Steps are in fs/operations.js and fs/descriptors.js.
import host from "pi:host";
import constants from "pi:shim/node/fs/constants";
import { closeFile, openFile, readAt, statOpen, sync, writeAt } from "pi:shim/node/fs/descriptors";
import { callbackForm, run, runSync, syncForm } from "pi:shim/node/fs/forms";
import * as operations from "pi:shim/node/fs/operations";
import { Dir, Dirent, Stats } from "pi:shim/node/fs/stats";

const fs = { constants, Stats, Dirent, Dir, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };

const both = {
  ...operations,
  open: openFile, close: closeFile, fstat: statOpen, fsync: sync, fdatasync: sync, ftruncate: operations.truncate,
};
delete both.ask;
for (const [name, operation] of Object.entries(both)) {
  fs[`${name}Sync`] = syncForm(`${name}Sync`, operation);
  fs[name] = callbackForm(name, operation);
}
fs.realpathSync.native = fs.realpathSync;
fs.realpath.native = fs.realpath;
fs.fchmodSync = (fd, mode) => runSync(operations.chmod(pathOf(fd), mode));
fs.fchmod = callbackForm("fchmod", (fd, mode) => operations.chmod(pathOf(fd), mode));
fs.futimesSync = (fd, accessed, modified) => runSync(operations.utimes(pathOf(fd), accessed, modified));
fs.futimes = callbackForm("futimes", (fd, accessed, modified) => operations.utimes(pathOf(fd), accessed, modified));

function pathOf(fd) {
  return host.load("pi:shim/node/fs/descriptors").descriptorOf(fd, "fchmod").full;
}

// Old callers get no error first, and asking never fails.
fs.exists = (path, callback) => { run(operations.exists(path)).then((found) => callback(found)); };
fs.exists[Symbol.for("nodejs.util.promisify.custom")] = (path) => run(operations.exists(path));
fs.access[Symbol.for("nodejs.util.promisify.custom")] = (path, mode) => run(operations.access(path, mode));

/** `(fd, buffer, offset, length, position)` or `(fd, buffer, {offset, length, position})`. */
function readArguments(buffer, offset, length, position) {
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  return [buffer, offset ?? 0, length ?? buffer.byteLength - (offset ?? 0), position ?? null];
}
fs.readSync = (fd, buffer, ...rest) => runSync(readAt(fd, ...readArguments(buffer, ...rest)));
fs.read = (fd, ...args) => {
  const callback = args.pop();
  if (!ArrayBuffer.isView(args[0])) {
    const { buffer = host.load("pi:shim/node/buffer").Buffer.alloc(16384), ...rest } = args[0] ?? {};
    args = [buffer, rest];
  }
  run(readAt(fd, ...readArguments(...args))).then((count) => callback(null, count, args[0]), callback);
};

/** `(fd, text, position, encoding)` or `(fd, buffer, offset, length, position)`. */
function writeArguments(data, offset, length, position) {
  if (typeof data === "string") {
    const encoded = typeof length === "string" ? host.load("pi:shim/node/buffer").Buffer.from(data, length) : data;
    return [encoded, typeof offset === "number" ? offset : undefined];
  }
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const start = offset ?? 0;
  return [data.subarray(start, start + (length ?? data.length - start)), position];
}
fs.writeSync = (fd, ...args) => runSync(writeAt(fd, ...writeArguments(...args)));
fs.write = (fd, ...args) => {
  const callback = args.pop();
  run(writeAt(fd, ...writeArguments(...args))).then((count) => callback(null, count, args[0]), callback);
};
fs.writevSync = (fd, buffers, position) => buffers.reduce((sum, part) => sum + fs.writeSync(fd, part, 0, part.length, typeof position === "number" ? position + sum : undefined), 0);
fs.readvSync = (fd, buffers, position) => buffers.reduce((sum, part) => sum + fs.readSync(fd, part, 0, part.byteLength, typeof position === "number" ? position + sum : null), 0);

const lazy = (specifier, names) => {
  for (const name of names) Object.defineProperty(fs, name, { get: () => host.load(specifier)[name], enumerable: true, configurable: true });
};
lazy("pi:shim/node/fs/streams", ["createReadStream", "createWriteStream", "ReadStream", "WriteStream"]);
lazy("pi:shim/node/fs/watch", ["watch", "watchFile", "unwatchFile", "FSWatcher"]);
Object.defineProperty(fs, "promises", { get: () => host.load("pi:shim/node/fs/promises").default, enumerable: true, configurable: true });

export default fs;
