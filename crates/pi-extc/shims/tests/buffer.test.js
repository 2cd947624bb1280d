import { shim } from "./setup.js";
import { Buffer as theirs } from "node:buffer";
import { same } from "./differ.js";

const { Buffer: ours } = await shim("node/buffer");
const TEXTS = ["", "abc", "äöü€😀", "aGVsbG8=", "aGVsbG8", "_-8", "68656c6c6f", "6x", "abc\u0000d", "\ud800", "!!!!", "YQ==YQ==", "ff0"];
const ENCODINGS = [undefined, "utf8", "UTF-8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "ucs2", "utf16le"];
const both = TEXTS.flatMap((text) => ENCODINGS.map((encoding) => [text, encoding]));
const hex = (buffer) => buffer.toString("hex");

same("from text", ours, theirs, both, (Buffer, text, encoding) => hex(Buffer.from(text, encoding)));
same("to text", ours, theirs, both, (Buffer, text, encoding) => Buffer.from(text).toString(encoding));
same("byteLength of whole texts", ours, theirs, both.filter(([text, encoding]) => encoding !== "base64" && encoding !== "base64url" && !(encoding === "hex" && /[^0-9a-f]/.test(text))), (Buffer, text, encoding) => Buffer.byteLength(text, encoding));
same("from other things", ours, theirs, [[[1, 2, 300]], [new Uint8Array([1, 2])], [new Uint16Array([1, 256])], [{ type: "Buffer", data: [1] }], [{ length: 2, 0: 5, 1: 6 }], [new String("x")], [new ArrayBuffer(2)], [null], [undefined], [5], [true], [{}]], (Buffer, value) => hex(Buffer.from(value)));
same("unknown encodings", ours, theirs, [["x", "utf9"], ["x", "nope"]], (Buffer, text, encoding) => Buffer.from(text, encoding));
const sample = [..."the quick brown fox"].map((char) => char.charCodeAt(0));
same("indexOf and its kin", ours, theirs, [["q"], ["o", 13], ["zzz"], [113], [""], ["o", -5], ["k", 8], ["", 50], [Uint8Array.of(98, 114)], ["x", undefined], ["o", NaN]], (Buffer, value, from) => {
  const buffer = Buffer.from(sample);
  return [buffer.indexOf(value, from), buffer.lastIndexOf(value, from), buffer.includes(value, from)];
});
same("slices", ours, theirs, [[0, 3], [-3], [3, -2], [5, 2], [100], [1.7, 4.2], [undefined, 2]], (Buffer, start, end) => [Buffer.from(sample).slice(start, end).toString(), Buffer.from(sample).subarray(start, end).toString(), Buffer.from(sample).toString("utf8", start, end)]);
same("writing", ours, theirs, [["abc"], ["abc", 2], ["abc", 1, 1], ["€€", 0, 4], ["ffff", 0, "hex"], ["abc", 9], ["x", 99]], (Buffer, ...args) => {
  const buffer = Buffer.alloc(10);
  return [buffer.write(...args), hex(buffer)];
});
same("filling", ours, theirs, [["ab"], [0], [257], ["ab", 2], ["ab", 1, 4], ["6162", "hex"], [Uint8Array.of(1, 2), 3], [""]], (Buffer, ...args) => hex(Buffer.alloc(7).fill(...args)));
same("concat and compare", ours, theirs, [[[1, 2], [3]], [[1], [1]], [[1, 2], [1, 3]], [[], [1]]], (Buffer, a, b) => [hex(Buffer.concat([Buffer.from(a), Buffer.from(b)])), hex(Buffer.concat([Buffer.from(a), Buffer.from(b)], 2)), Buffer.compare(Buffer.from(a), Buffer.from(b)), Buffer.from(a).equals(Buffer.from(b))]);
same("JSON and copies", ours, theirs, [[sample]], (Buffer, bytes) => {
  const [buffer, target] = [Buffer.from(bytes), Buffer.alloc(5)];
  return [JSON.stringify(buffer), buffer.copy(target, 1, 4), hex(target), hex(Buffer.from(bytes.slice(0, 8)).swap16()), hex(Buffer.from(bytes.slice(0, 8)).swap32())];
});
const numbers = ["UInt8", "Int8", "UInt16LE", "UInt16BE", "Int16LE", "Int16BE", "UInt32LE", "UInt32BE", "Int32LE", "Int32BE", "FloatLE", "FloatBE", "DoubleLE", "DoubleBE"].flatMap((name) => [0, 1, -1, 200, 70000, 2 ** 32, 1.5].map((value) => [name, value]));
same("numbers", ours, theirs, numbers, (Buffer, name, value) => {
  const buffer = Buffer.alloc(8);
  return [buffer[`write${name}`](value), hex(buffer), buffer[`read${name}`]()];
});
same("wide numbers", ours, theirs, [[1, 3], [-1, 3], [2 ** 40, 6], [-(2 ** 30), 5], [300, 1]], (Buffer, value, width) => {
  const buffer = Buffer.alloc(8);
  buffer.writeIntLE(value, 0, width);
  buffer.writeIntBE(value, 1, width);
  return [hex(buffer), buffer.readIntBE(1, width), buffer.readUIntLE(0, width)];
});
same("big numbers", ours, theirs, [[5n], [-5n], [2n ** 63n]], (Buffer, value) => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64LE(value);
  return [hex(buffer), buffer.readBigUInt64BE()];
});
same("offsets out of range", ours, theirs, [[9], [-1], [1.5], ["1"]], (Buffer, offset) => Buffer.alloc(4).readUInt16LE(offset));
same("kinds", ours, theirs, [["utf8"], ["x"], [""], [1]], (Buffer, name) => [Buffer.isEncoding(name), Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)), Buffer.alloc(1) instanceof Uint8Array]);
same("made with new, as old code does", ours, theirs, [["alloc", 3], ["from", "ab"], ["allocUnsafe", 0], ["concat", [Uint8Array.of(1)]]], (Buffer, name, given) => hex(new Buffer[name](given)));
