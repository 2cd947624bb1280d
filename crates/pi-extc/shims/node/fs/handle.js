// FileHandle, what `fs.promises.open` gives.
import host from "pi:host";
import { closeFile, openFile, readAt, statOpen, sync, writeAt } from "pi:shim/node/fs/descriptors";
import { run } from "pi:shim/node/fs/forms";
import { appendFile, chmod, readFile, truncate, utimes, writeFile } from "pi:shim/node/fs/operations";
import { EventEmitter } from "pi:shim/node/events";

export class FileHandle extends EventEmitter {
  #path;
  constructor(fd, path) {
    super();
    this.fd = fd;
    this.#path = path;
  }
  async read(buffer, offset, length, position) {
    if (buffer === undefined || !ArrayBuffer.isView(buffer)) {
      ({ buffer, offset, length, position } = { buffer: host.load("pi:shim/node/buffer").Buffer.alloc(16384), ...buffer });
    } else if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    const bytesRead = await run(readAt(this.fd, buffer, offset ?? 0, length ?? buffer.byteLength - (offset ?? 0), position ?? null));
    return { bytesRead, buffer };
  }
  async write(buffer, offset, length, position) {
    if (typeof buffer === "string") return { bytesWritten: await run(writeAt(this.fd, buffer, offset)), buffer };
    if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    const part = buffer.subarray(offset ?? 0, (offset ?? 0) + (length ?? buffer.length - (offset ?? 0)));
    return { bytesWritten: await run(writeAt(this.fd, part, position)), buffer };
  }
  async writev(buffers, position) {
    let bytesWritten = 0;
    for (const part of buffers) bytesWritten += await run(writeAt(this.fd, part, typeof position === "number" ? position + bytesWritten : undefined));
    return { bytesWritten, buffers };
  }
  readFile(options) { return run(readFile(this.fd, options)); }
  writeFile(data, options) { return run(writeFile(this.fd, data, options)); }
  appendFile(data, options) { return run(appendFile(this.fd, data, options)); }
  stat(options) { return run(statOpen(this.fd, options)); }
  truncate(length) { return run(truncate(this.fd, length)); }
  chmod(mode) { return run(chmod(this.#path, mode)); }
  utimes(accessed, modified) { return run(utimes(this.#path, accessed, modified)); }
  sync() { return run(sync(this.fd)); }
  datasync() { return run(sync(this.fd)); }
  createReadStream(options) { return host.load("pi:shim/node/fs/streams").createReadStream(this.#path, { ...options, fd: this.fd }); }
  createWriteStream(options) { return host.load("pi:shim/node/fs/streams").createWriteStream(this.#path, { ...options, fd: this.fd }); }
  readLines(options) { return host.load("pi:shim/node/readline").createInterface({ input: this.createReadStream(options), crlfDelay: Infinity }); }
  async close() {
    if (this.fd < 0) return;
    const fd = this.fd;
    this.fd = -1;
    await run(closeFile(fd));
    this.emit("close");
  }
  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() { return this.close(); }
}

export async function openHandle(path, flags, mode) {
  return new FileHandle(await run(openFile(path, flags, mode)), path);
}
