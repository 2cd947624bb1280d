// Standard streams of a guest: output goes to its log, input is empty. None is a terminal.
import host from "pi:host";
import { Readable } from "pi:shim/node/stream/readable";
import { Writable } from "pi:shim/node/stream/writable";

export function standardOutput(name, fd) {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, callback) {
      host.write(name, typeof chunk === "string" ? chunk : host.utf8Decode(chunk, false));
      callback();
    },
  });
  // Programs end these streams by habit; the log stays open.
  stream.end = (chunk) => { if (chunk) stream.write(chunk); return stream; };
  stream.destroy = () => stream;
  const still = (x, y, callback) => { (typeof y === "function" ? y : callback)?.(); return true; };
  return Object.assign(stream, {
    fd, isTTY: false, _isStdio: true, columns: 80, rows: 24, getColorDepth: () => 1, hasColors: () => false, getWindowSize: () => [80, 24],
    cursorTo: still, moveCursor: still, clearLine: (direction, callback) => still(0, callback), clearScreenDown: (callback) => still(0, callback),
  });
}

export function standardInput() {
  const stream = new Readable({ read() { this.push(null); } });
  return Object.assign(stream, { fd: 0, isTTY: false, isRaw: false, setRawMode: () => stream, ref: () => stream, unref: () => stream });
}
