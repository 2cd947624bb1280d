// createReadStream and createWriteStream.
import { optionsOf, pathText } from "pi:shim/node/fs/arguments";
import { closeFile, openFile, readAt, writeAt } from "pi:shim/node/fs/descriptors";
import { run } from "pi:shim/node/fs/forms";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { Readable } from "pi:shim/node/stream/readable";
import { Writable } from "pi:shim/node/stream/writable";

function opening(stream, path, flags, mode, given) {
  stream.path = path;
  stream.fd = typeof given === "number" ? given : (given?.fd ?? null);
  stream.pending = stream.fd === null;
  stream._construct = (callback) => {
    if (stream.fd !== null) return callback();
    return run(openFile(path, flags, mode)).then((fd) => {
      stream.fd = fd;
      stream.pending = false;
      stream.emit("open", fd);
      stream.emit("ready");
      callback();
    }, callback);
  };
  stream._destroy = (problem, callback) => {
    const fd = stream.fd;
    stream.fd = null;
    if (fd === null || stream.autoClose === false) return callback(problem);
    return run(closeFile(fd)).then(() => callback(problem), (fault) => callback(problem ?? fault));
  };
  stream.close = (callback) => {
    if (callback) stream.once("close", callback);
    if (stream._writableState) stream.end();
    else stream.destroy();
  };
}

export class ReadStream extends Readable {
  constructor(path, options) {
    const { flags = "r", mode, fd, start, end = Infinity, autoClose = true, highWaterMark = 65536, encoding, emitClose, signal } = optionsOf(options);
    // The base starts before this constructor ends, so the way to open the file is looked up a moment later.
    super({ highWaterMark, encoding, emitClose, signal, construct(callback) { queueMicrotask(() => this._open(callback)); } });
    this.bytesRead = 0;
    Object.assign(this, { flags, mode, start, end, autoClose });
    opening(this, typeof fd === "number" || fd ? path : pathText(path), flags, mode, fd);
    this._open = this._construct;
    this.at = start;
  }
  _read(size) {
    const left = this.end - (this.at ?? this.bytesRead) + 1;
    const count = Math.min(size, left);
    if (count <= 0) return void this.push(null);
    const chunk = Buffer.alloc(count);
    run(readAt(this.fd, chunk, 0, count, this.at ?? null)).then((read) => {
      this.bytesRead += read;
      if (this.at !== undefined) this.at += read;
      this.push(read === 0 ? null : chunk.subarray(0, read));
    }, (problem) => this.destroy(problem));
    return undefined;
  }
}

export class WriteStream extends Writable {
  constructor(path, options) {
    const { flags = "w", mode, fd, start, autoClose = true, highWaterMark, encoding, emitClose, signal } = optionsOf(options);
    super({ highWaterMark, defaultEncoding: encoding, emitClose, signal, construct(callback) { queueMicrotask(() => this._open(callback)); } });
    this.bytesWritten = 0;
    Object.assign(this, { flags, mode, start, autoClose });
    opening(this, typeof fd === "number" || fd ? path : pathText(path), flags, mode, fd);
    this._open = this._construct;
    this.at = start;
  }
  _write(chunk, encoding, callback) {
    run(writeAt(this.fd, chunk, this.at)).then((count) => {
      this.bytesWritten += count;
      if (this.at !== undefined) this.at += count;
      callback();
    }, callback);
  }
}

export const createReadStream = (path, options) => new ReadStream(path, options);
export const createWriteStream = (path, options) => new WriteStream(path, options);
