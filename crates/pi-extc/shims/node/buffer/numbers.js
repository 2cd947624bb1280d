// The numbers in a Buffer: readUInt8 … writeDoubleLE, with Node's range errors.
import host from "pi:host";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);

const FIXED = [
  ["UInt8", 1, "Uint8"], ["Int8", 1, "Int8"], ["UInt16", 2, "Uint16"], ["Int16", 2, "Int16"],
  ["UInt32", 4, "Uint32"], ["Int32", 4, "Int32"], ["Float", 4, "Float32"], ["Double", 8, "Float64"],
  ["BigInt64", 8, "BigInt64"], ["BigUInt64", 8, "BigUint64"],
];

function outOfRange(name, range, value) {
  const shown = typeof value === "bigint" ? `${group(String(value))}n` : Number.isInteger(value) && Math.abs(value) > 2 ** 32 ? group(String(value)) : inspect(value);
  const text = `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`;
  return Object.assign(new RangeError(text), { code: "ERR_OUT_OF_RANGE" });
}

const group = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "_");

function checkOffset(buffer, offset, size) {
  if (typeof offset !== "number") {
    const text = `The "offset" argument must be of type number. Received ${offset === null ? "null" : `type ${typeof offset} (${inspect(offset)})`}`;
    throw Object.assign(new TypeError(text), { code: "ERR_INVALID_ARG_TYPE" });
  }
  const last = buffer.length - size;
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (last < 0) {
    const text = "Attempt to access memory outside buffer bounds";
    throw Object.assign(new RangeError(text), { code: "ERR_BUFFER_OUT_OF_BOUNDS" });
  }
  if (offset < 0 || offset > last) throw outOfRange("offset", `>= 0 and <= ${last}`, offset);
}

const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);

function limits(name, size) {
  const bits = size * 8;
  if (name.startsWith("Big")) {
    return name === "BigInt64" ? [-(2n ** 63n), 2n ** 63n - 1n, ">= -(2n ** 63n) and < 2n ** 63n"] : [0n, 2n ** 64n - 1n, ">= 0n and < 2n ** 64n"];
  }
  const signed = name.startsWith("I");
  const low = signed ? -(2 ** (bits - 1)) : 0;
  const high = signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  const range = bits <= 16 || bits === 32
    ? `>= ${low} and <= ${high}`
    : signed ? `>= -(2 ** ${bits - 1}) and < 2 ** ${bits - 1}` : `>= 0 and < 2 ** ${bits}`;
  return [low, high, bits === 32 ? `>= ${signed ? `-${group(String(-low))}` : low} and <= ${group(String(high))}` : range];
}

function reader(type, size, little) {
  const get = DataView.prototype[`get${type}`];
  return function (offset = 0) {
    checkOffset(this, offset, size);
    return get.call(view(this), offset, little);
  };
}

function writer(name, type, size, little) {
  const set = DataView.prototype[`set${type}`];
  const isFloat = type.startsWith("Float");
  const [low, high, range] = isFloat ? [] : limits(name, size);
  return function (value, offset = 0) {
    if (!isFloat) {
      const number = typeof low === "bigint" ? value : +value;
      if (number < low || number > high) throw outOfRange("value", plainRange(range), value);
    }
    checkOffset(this, offset, size);
    set.call(view(this), offset, value, little);
    return offset + size;
  };
}

// Node groups the digits of the value, not those of the limits.
const plainRange = (range) => range.replace(/(\d)_(?=\d)/g, "$1");

function checkWidth(byteLength) {
  if (byteLength === undefined) {
    const text = 'The "byteLength" argument must be of type number. Received undefined';
    throw Object.assign(new TypeError(text), { code: "ERR_INVALID_ARG_TYPE" });
  }
  if (!(byteLength >= 1 && byteLength <= 6)) throw outOfRange("byteLength", ">= 1 and <= 6", byteLength);
}

function readWide(signed, little) {
  return function (offset, byteLength) {
    checkWidth(byteLength);
    checkOffset(this, offset, byteLength);
    let value = 0;
    for (let i = 0; i < byteLength; i++) value = value * 256 + this[offset + (little ? byteLength - 1 - i : i)];
    return signed && value >= 2 ** (8 * byteLength - 1) ? value - 2 ** (8 * byteLength) : value;
  };
}

function writeWide(signed, little) {
  return function (value, offset, byteLength) {
    checkWidth(byteLength);
    const [low, high, range] = limits(signed ? "Int" : "UInt", byteLength);
    if (+value < low || +value > high) throw outOfRange("value", plainRange(range), value);
    checkOffset(this, offset, byteLength);
    let rest = value < 0 ? value + 2 ** (8 * byteLength) : +value;
    for (let i = 0; i < byteLength; i++) {
      this[offset + (little ? i : byteLength - 1 - i)] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return offset + byteLength;
  };
}

/** The methods, by name; `Uint` spellings are aliases of the `UInt` ones. */
export function numberMethods() {
  const methods = {};
  for (const [name, size, type] of FIXED) {
    for (const end of size === 1 ? [""] : ["LE", "BE"]) {
      methods[`read${name}${end}`] = reader(type, size, end === "LE");
      methods[`write${name}${end}`] = writer(name, type, size, end === "LE");
    }
  }
  for (const end of ["LE", "BE"]) {
    methods[`readInt${end}`] = readWide(true, end === "LE");
    methods[`readUInt${end}`] = readWide(false, end === "LE");
    methods[`writeInt${end}`] = writeWide(true, end === "LE");
    methods[`writeUInt${end}`] = writeWide(false, end === "LE");
  }
  for (const name of Object.keys(methods)) {
    if (name.includes("UInt")) methods[name.replace("UInt", "Uint")] = methods[name];
  }
  return methods;
}
