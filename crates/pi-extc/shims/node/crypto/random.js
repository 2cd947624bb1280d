// Random values.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { checkCallback, checkNumber, later, outOfRange, wrongType } from "pi:shim/node/crypto/arguments";
import { fault } from "pi:shim/node/stream/base";
import webcrypto from "pi:shim/web/crypto";

const LONGEST = 2 ** 31 - 1;
/** More the host does not draw at once. */
const PIECE = 2 ** 20;

function fill(bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) bytes.set(host.random(Math.min(PIECE, bytes.length - at)), at);
  return bytes;
}

export function randomBytes(size, callback) {
  checkNumber(size, "size", 0, LONGEST);
  if (callback === undefined) return fill(Buffer.alloc(size));
  checkCallback(callback);
  return later(() => fill(Buffer.alloc(size)), callback);
}
export const randomUUID = () => webcrypto.randomUUID();
export const getRandomValues = (target) => webcrypto.getRandomValues(target);

const whole = (value, name) => {
  if (!Number.isSafeInteger(value)) throw wrongType(name, "a safe integer", value);
};
export function randomInt(low, high, callback) {
  const hasLow = high !== undefined && typeof high !== "function";
  if (!hasLow) [low, high, callback] = [0, low, high];
  if (callback !== undefined) checkCallback(callback);
  if (hasLow) whole(low, "min");
  whole(high, "max");
  const range = high - low;
  if (range <= 0) throw outOfRange("max", `greater than the value of "min" (${low})`, high);
  if (range > 2 ** 48 - 1) throw outOfRange(hasLow ? "max - min" : "max", `<= ${2 ** 48 - 1}`, hasLow ? range : high);
  // Values above the last whole multiple would make some results likelier than others.
  const limit = 2 ** 48 - (2 ** 48 % range);
  const draw = () => {
    let value;
    do value = Buffer.from(host.random(6)).readUIntBE(0, 6);
    while (value >= limit);
    return low + (value % range);
  };
  if (callback === undefined) return draw();
  return later(draw, (problem, value) => callback(problem ?? undefined, value));
}

export function randomFillSync(target, offset = 0, size = undefined) {
  if (!ArrayBuffer.isView(target) && !(target instanceof ArrayBuffer)) throw wrongType("buf", "an instance of ArrayBuffer or ArrayBufferView", target);
  // Places are counted in what the array holds.
  const unit = target.BYTES_PER_ELEMENT ?? 1;
  const most = target.byteLength / unit;
  checkNumber(offset, "offset", 0, most);
  const count = size === undefined ? most - offset : size;
  checkNumber(count, "size", 0, LONGEST);
  if (count + offset > most) throw outOfRange("size + offset", `<= ${most}`, count + offset);
  fill(new Uint8Array(target.buffer ?? target, (target.byteOffset ?? 0) + offset * unit, count * unit));
  return target;
}
export function randomFill(target, ...rest) {
  const callback = rest.pop();
  checkCallback(callback);
  later(() => randomFillSync(target, ...rest), callback);
}

const PLAIN_BYTES = "an instance of ArrayBuffer, Buffer, TypedArray, or DataView";
const view = (data, name) => {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw fault("ERR_INVALID_ARG_TYPE", `The "${name}" argument must be ${PLAIN_BYTES}.`, TypeError);
};
export function timingSafeEqual(one, other) {
  const [a, b] = [view(one, "buf1"), view(other, "buf2")];
  if (a.length !== b.length) throw fault("ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length", RangeError);
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
  return difference === 0;
}
