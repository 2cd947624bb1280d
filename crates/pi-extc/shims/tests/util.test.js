import { shim } from "./setup.js";
import util from "node:util";
import { same } from "./differ.js";

const { default: ours } = await shim("node/util");
class Point { constructor() { this.x = 1; } get y() { return 2; } }
class Empty extends Map {}
const circular = { name: "c", list: [] };
circular.self = circular;
circular.list.push(circular, { circular });
const VALUES = [
  1, -0, 1.5e300, NaN, 10n, true, null, undefined, "a", "it's", `a"'b`, "\n\t\x1b\x00", Symbol("s"), Symbol.iterator, [], {}, [1, 2, [3, [4, [5, [6]]]]], { a: { b: { c: { d: 1 } } } }, [undefined, null, , 3], Array(5), new Array(3).fill("x"),
  new Map([["a", 1], [{ k: 1 }, [2]]]), new Set(["a", { b: 1 }]), new Map(), new Set(), new Date(0), new Date(NaN), /a\/b/gi, () => {}, function named() {}, async () => {}, function* gen() {}, class {}, class A extends Point {}, new Point(), new Empty(),
  Object.create(null), Object.assign(Object.create(null), { a: 1 }), { "a-b": 1, 2: 3, [Symbol("k")]: 4, get g() { return 1; }, set s(v) {}, get b() { return 1; }, set b(v) {} }, Object.assign(() => {}, { a: 1, b: [2] }), new Number(1), new String("ab"), new Boolean(false),
  new Uint8Array(3), new Float64Array([1.5, 2]), new ArrayBuffer(4), circular, Array.from({ length: 120 }, (_, i) => i), Array.from({ length: 30 }, (_, i) => `item ${i}`), Array.from({ length: 10 }, (_, i) => ({ i })), "x".repeat(300), ["x".repeat(100), "y"],
  { text: "line one\nline two\n".repeat(10) }, { aaaaaaaaaaaaaaaaaaaa: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", cccccccccccccccccccc: "dddddddddddddddddddddddd" }, { f() {}, g: async () => {}, h: class {} }, [["a", "b"], ["c"]], new WeakMap(), new WeakSet(), [1.5, 22, 333, 4, 55, 6.25, 7], [true, false, true, false, true, false, true, false],
  { a: [{ b: { c: {} } }] }, { a: [{ b: { c: { d: 1 } } }] }, Object.freeze([1]), (function () { return arguments; })(1, 2), [[]], [{}], { a: [] }, { a: undefined, b: null }, new (class extends Array {})(), Math, JSON, globalThis.Reflect, { [Symbol.toStringTag]: "Tagged" },
];
same("inspect", ours, util, VALUES.map((value) => [value]), (own, value) => own.inspect(value));
same("inspect with options", ours, util, [{ depth: 0 }, { depth: null }, { compact: false }, { breakLength: 40 }, { maxArrayLength: 2 }, { maxStringLength: 3 }, { sorted: true }, { colors: true }, { showHidden: false, depth: 1 }].flatMap((options) => [[{ z: [1, 2, 3], a: { b: { c: ["long text here", "and here"] } } }, options], ["text", options], [[1, null, undefined, true, Symbol("x"), /x/], options]]), (own, value, options) => own.inspect(value, options));
same("format", ours, util, [["%s", "a"], ["%s %s", "a"], ["%d", "42"], ["%i", 42.9], ["%f", "1.5x"], ["%j", { a: 1 }], ["%o", { a: 1 }], ["%O", { a: { b: { c: {} } } }], ["%%", 1], ["100%", 1], ["a", "b", { c: 1 }], [{ a: 1 }, "b"], ["%s", null], ["%s", { a: { b: 1 } }], ["%s", [1, "a"]], ["%c x", "css"], ["%s", Symbol("a")], ["%d", 1n], ["%s", -0], ["%s", class A {}], ["%x", 1], [1, 2, "3"], ["%s", () => 1], ["%s", new Date(0)]], (own, ...args) => own.format(...args));
same("deep equality", ours, util, [[{ a: 1 }, { a: 1 }], [{ a: 1 }, { a: "1" }], [[1, [2]], [1, [2]]], [new Map([[1, { a: 2 }]]), new Map([[1, { a: 2 }]])], [new Set([1, 2]), new Set([2, 1])], [new Date(1), new Date(1)], [/a/g, /a/], [NaN, NaN], [0, -0], [{ a: undefined }, {}], [[1, , 3], [1, undefined, 3]], [new Point(), { x: 1 }], [null, undefined]], (own, a, b) => own.isDeepStrictEqual(a, b));
same("stripVTControlCharacters", ours, util, [["\x1b[31mred\x1b[0m"], ["\x1b]8;;http://x\x07link\x1b]8;;\x07"], ["plain"], ["\x1b[2K\x1b[1A"]], (own, text) => own.stripVTControlCharacters(text));
same("styleText", ours, util, [["red", "x"], ["bold", "y"], ["underline", "z"]], (own, format, text) => own.styleText(format, text, { validateStream: false }));
const options = { verbose: { type: "boolean", short: "v" }, name: { type: "string", short: "n" }, tag: { type: "string", multiple: true }, level: { type: "string", default: "1" } };
same("parseArgs", ours, util, [[["-v", "--name", "x", "pos"]], [["--name=y", "--tag", "a", "--tag", "b"]], [["-vn", "z"]], [["-nz"]], [["--", "-v"]], [["--unknown"]], [["--name"]], [["--verbose=1"]], [["a", "b"]], [[]]], (own, args) => {
  const { values, positionals } = own.parseArgs({ args, options, allowPositionals: true });
  return { values: { ...values }, positionals };
});
same("types", ours, util, VALUES.map((value) => [value]), (own, value) => Object.fromEntries(["isPromise", "isRegExp", "isDate", "isMap", "isSet", "isTypedArray", "isAsyncFunction", "isGeneratorFunction", "isBoxedPrimitive", "isArrayBuffer", "isNativeError"].map((name) => [name, own.types[name](value)])));
