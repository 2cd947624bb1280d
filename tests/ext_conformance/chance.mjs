// Chance in a rehearsal: lots that fall the same way in every run and in both hosts, so that names and numbers which an
// extension draws can be compared. `crates/pi-guests/src/js/chance.rs` is the same for our host; `chance.json` is what both are held to.
//
// Every step begins anew, so that a draw more or less in one of them changes nothing in the next. What Pi itself draws stays
// chance: the hosts draw for themselves at other moments, and what an extension gets must not hang on it.

import { readFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";

const require = createRequire(import.meta.url);

/** What the number of a step is multiplied with, so that neighbours have nothing in common. */
const SPREAD = 0x9e3779b9;
/** Frames of the stack that are looked at to find who draws. */
const FRAMES = 8;

/** The lots of one step: `fraction` for `Math.random`, `bytes` for everything that draws bytes. */
export function lots(step) {
  const draw = [0, 1].map((kind) => generator(Math.imul(2 * step + kind + 1, SPREAD)));
  return {
    fraction: () => ((draw[0]() >>> 5) * 2 ** 26 + (draw[0]() >>> 6)) / 2 ** 53,
    bytes: (count) => Uint8Array.from({ length: count }, () => draw[1]() >>> 24),
  };
}

/** Numbers of 32 bits, by shifting and exclusive or. */
function generator(state) {
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Throws where the lots fall otherwise than both hosts agreed on. */
export function checkLots() {
  for (const { step, fractions, bytes } of JSON.parse(readFileSync(new URL("chance.json", import.meta.url), "utf8"))) {
    const own = lots(step);
    const drawn = { fractions: fractions.map(() => own.fraction()), bytes: [...own.bytes(bytes.length)] };
    if (JSON.stringify(drawn) !== JSON.stringify({ fractions, bytes })) throw new Error(`step ${step} draws ${JSON.stringify(drawn)}`);
  }
}

/** Fixes what extensions draw in this process; answers what is to be called with the number of each step. */
export function fixChance(pi) {
  const own = pi.slice(0, pi.indexOf("/node_modules/"));
  let current = lots(0);
  /** Calls the real one for Pi, its packages and Node, and the fixed one for extensions. */
  const either = (real, fixed) =>
    function drawn(...args) {
      return isExtension(own, drawn) ? fixed(...args) : real.apply(this, args);
    };
  const crypto = require("node:crypto");
  const fill = (target, offset = 0, size = target.byteLength - offset) => {
    new Uint8Array(target.buffer ?? target, target.byteOffset ?? 0, target.byteLength).set(current.bytes(size), offset);
    return target;
  };
  const uuid = () => {
    const bytes = current.bytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  };
  const later = (callback, value) => (typeof callback === "function" ? void setImmediate(callback, null, value) : value);
  const fixed = {
    randomBytes: (size, callback) => later(callback, Buffer.from(current.bytes(size))),
    randomUUID: uuid,
    randomInt(low, high, callback) {
      if (high === undefined || typeof high === "function") [low, high, callback] = [0, low, high];
      return later(callback, low + (Buffer.from(current.bytes(6)).readUIntBE(0, 6) % (high - low)));
    },
    randomFillSync: fill,
    randomFill(target, ...rest) {
      const callback = rest.pop();
      later(callback, fill(target, ...rest));
    },
    getRandomValues: (target) => fill(target),
  };
  const replace = (holder, name) => {
    const value = either(holder[name].bind(holder), fixed[name]);
    Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
  };
  // `getRandomValues` of the module is the one of the web.
  for (const name of Object.keys(fixed).filter((name) => name !== "getRandomValues")) replace(crypto, name);
  for (const name of ["getRandomValues", "randomUUID"]) replace(crypto.webcrypto, name);
  Math.random = either(Math.random, () => current.fraction());
  syncBuiltinESMExports();
  return (step) => {
    current = lots(step);
  };
}

/** Whether the nearest file on the stack is not one of Pi's folder; the examples in it are extensions. */
function isExtension(own, above) {
  const [limit, prepare] = [Error.stackTraceLimit, Error.prepareStackTrace];
  const seen = {};
  Error.stackTraceLimit = FRAMES;
  Error.prepareStackTrace = undefined;
  Error.captureStackTrace(seen, above);
  const frames = seen.stack.split("\n").slice(1);
  [Error.stackTraceLimit, Error.prepareStackTrace] = [limit, prepare];
  const nearest = frames.find((frame) => /[( ](file:\/\/)?\//.test(frame)) ?? "";
  return nearest !== "" && (!nearest.includes(own) || nearest.includes("/examples/extensions/"));
}
