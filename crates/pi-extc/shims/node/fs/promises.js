// node:fs/promises.
import constants from "pi:shim/node/fs/constants";
import { promiseForm, run } from "pi:shim/node/fs/forms";
import { FileHandle, openHandle as open } from "pi:shim/node/fs/handle";
import * as operations from "pi:shim/node/fs/operations";
import { watchIterator as watch } from "pi:shim/node/fs/watch";

const {
  access, appendFile, chmod, chown, copyFile, cp, lchown, link, lstat, lutimes, mkdir, mkdtemp, opendir, readdir, readlink, realpath, rename,
  rm, rmdir, stat, statfs, symlink, truncate, unlink, utimes,
} = Object.fromEntries(Object.entries(operations).filter(([name]) => name !== "exists" && name !== "ask").map(([name, operation]) => [name, promiseForm(name, operation)]));

async function readFile(path, options) {
  options?.signal?.throwIfAborted?.();
  return run(operations.readFile(path instanceof FileHandle ? path.fd : path, options));
}

async function writeFile(path, data, options) {
  options?.signal?.throwIfAborted?.();
  const target = path instanceof FileHandle ? path.fd : path;
  if (typeof data === "string" || ArrayBuffer.isView(data)) return run(operations.writeFile(target, data, options));
  let isFirst = true;
  for await (const chunk of data) {
    await run(isFirst ? operations.writeFile(target, chunk, options) : operations.appendFile(target, chunk));
    isFirst = false;
  }
  return undefined;
}

export {
  access, appendFile, chmod, chown, constants, copyFile, cp, lchown, link, lstat, lutimes, mkdir, mkdtemp, open, opendir, readdir, readFile,
  readlink, realpath, rename, rm, rmdir, stat, statfs, symlink, truncate, unlink, utimes, watch, writeFile,
};
export default {
  access, appendFile, chmod, chown, constants, copyFile, cp, lchown, link, lstat, lutimes, mkdir, mkdtemp, open, opendir, readdir, readFile,
  readlink, realpath, rename, rm, rmdir, stat, statfs, symlink, truncate, unlink, utimes, watch, writeFile,
};
