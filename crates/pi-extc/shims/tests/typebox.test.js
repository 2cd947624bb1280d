import { reference, shim } from "./setup.js";
import assert from "node:assert/strict";
import test from "node:test";
import { same } from "./differ.js";

const ours = await shim("typebox/type");
const theirs = await reference("typebox");
const ourValue = await shim("typebox/value");
const theirValue = await reference("typebox/value");

const object = (T) => T.Object({ a: T.String(), b: T.Optional(T.Number()) });
const SCHEMAS = [
  (T) => T.String({ minLength: 1, description: "d" }), (T) => T.Number({ default: 1 }), (T) => T.Integer({ minimum: 0 }), (T) => T.Boolean(), (T) => T.Null(), (T) => T.Any({ title: "t" }), (T) => T.Unknown(), (T) => T.Never(), (T) => T.Void(), (T) => T.Undefined(), (T) => T.BigInt(), (T) => T.Symbol(),
  (T) => T.Literal("a", { description: "x" }), (T) => T.Literal(1), (T) => T.Literal(true), object, (T) => T.Object({}, { additionalProperties: false }), (T) => T.Object({ x: T.Optional(T.String()) }, { description: "q", $id: "I" }), (T) => T.Object({ a: object(T), l: T.Array(object(T)) }),
  (T) => T.Array(T.String(), { minItems: 1, uniqueItems: true }), (T) => T.Tuple([T.String(), T.Number()]), (T) => T.Tuple([]), (T) => T.Union([T.Literal("a"), T.Literal("b")], { description: "u" }), (T) => T.Union([T.String()]), (T) => T.Union([]), (T) => T.Intersect([object(T), T.Object({ c: T.Null() })]),
  (T) => T.Record(T.String(), T.Number()), (T) => T.Record(T.Union([T.Literal("a"), T.Literal("b")]), T.Any()), (T) => T.Record(T.Number(), T.String(), { description: "r" }), (T) => T.Record(T.Integer(), T.String()), (T) => T.Record(T.String({ pattern: "^x" }), T.String()), (T) => T.Enum({ A: "a", B: "b" }), (T) => T.Enum(["x", "y"], { description: "e" }),
  (T) => T.Optional(T.String({ description: "o" })), (T) => T.Readonly(T.String()), (T) => T.Partial(object(T)), (T) => T.Partial(T.Object({ a: T.String() }, { description: "P" })), (T) => T.Required(object(T)), (T) => T.Pick(object(T), ["a"]), (T) => T.Omit(object(T), ["a"]), (T) => T.KeyOf(object(T)), (T) => T.Index(object(T), ["a"]),
  (T) => T.Exclude(T.Union([T.Literal("a"), T.Literal("b")]), T.Literal("a")), (T) => T.Extract(T.Union([T.Literal("a"), T.Literal("b"), T.Null()]), T.Literal("a")), (T) => T.Ref("X"), (T) => T.Unsafe({ type: "string", enum: ["a"] }), (T) => T.TemplateLiteral("a${string}b"), (T) => T.TemplateLiteral([T.Literal("v"), T.Number()]),
  (T) => T.Cyclic({ Node: T.Object({ next: T.Array(T.Ref("Node")) }) }, "Node"), (T) => T.Function([T.String()], T.Number()), (T) => T.Interface([object(T)], { z: T.String() }), (T) => T.Evaluate(T.Intersect([object(T), T.Object({ c: T.Null() })])), (T) => T.NonNullable(T.Union([T.String(), T.Null()])), (T) => T.With(T.String(), { description: "w" }),
];

if (!theirs) test("typebox is not installed in PI_SHIMS_REFERENCE", { skip: true }, () => {});
else {
  same("schemas serialise alike, member for member", ours, theirs, SCHEMAS.map((make) => [make]), ({ Type }, make) => JSON.stringify(make(Type)));
  same("marks are hidden alike", ours, theirs, SCHEMAS.map((make) => [make]), ({ Type }, make) => Object.getOwnPropertyNames(make(Type)).filter((name) => name.startsWith("~kind") || name.startsWith("~optional")));
  const VALUES = ["a", "", 1, -1, 1.5, true, null, undefined, [], ["x"], ["x", 1], {}, { a: "s" }, { a: "s", b: 1 }, { a: 1 }, { a: "s", b: "n" }, { b: 1 }, { c: null, a: "x" }, { 1: "x" }, { z: 1 }, "axb", "v12"];
  const pairs = SCHEMAS.flatMap((make) => VALUES.map((value) => [make, value])).filter(([make]) => !/T\.(Function|Void|Ref|Never|Undefined|Union\(\[\]\))/.test(String(make)));
  same("values are judged alike", { ...ours, ...ourValue }, { ...theirs, ...theirValue }, pairs, ({ Type, Check }, make, value) => Check(make(Type), value));
  same("errors have the same words and places", { ...ours, ...ourValue }, { ...theirs, ...theirValue }, pairs.filter(([make, value]) => value !== undefined && /T\.(String|Number|Integer|Boolean|Object|Array|Literal|Enum|Union)\(/.test(String(make)) && !/Tuple|Record|Partial|Pick|Omit|Intersect|Evaluate|Interface/.test(String(make))), ({ Type, Errors }, make, value) => [...Errors(make(Type), value)].map(({ instancePath, message }) => `${instancePath} ${message}`));
  same("defaults", { ...ours, ...ourValue }, { ...theirs, ...theirValue }, [[{}], [{ n: 5 }], [{ l: [{}] }]], ({ Type: T, Default }, value) => Default(T.Object({ n: T.Number({ default: 3 }), l: T.Optional(T.Array(T.Object({ x: T.String({ default: "y" }) }))) }), structuredClone(value)));
  same("cleaning", { ...ours, ...ourValue }, { ...theirs, ...theirValue }, [[{ a: "x", q: 1 }], [{ a: "x", b: 2 }]], ({ Type, Clean }, value) => Clean(object(Type), structuredClone(value)));
}

test("what only the old typebox had is there", () => {
  const { Type: T } = ours;
  assert.deepEqual(JSON.parse(JSON.stringify(T.Not(T.String()))), { not: { type: "string" } });
  assert.deepEqual(JSON.parse(JSON.stringify(T.Recursive((own) => T.Object({ n: T.Array(own) }), { $id: "N" }))), { type: "object", required: ["n"], properties: { n: { type: "array", items: { $ref: "N" } } }, $id: "N" });
  assert.ok(ourValue.Check(T.Recursive((own) => T.Object({ n: T.Array(own) }), { $id: "M" }), { n: [{ n: [] }] }));
  assert.deepEqual(Object.keys(T.Composite([T.Object({ a: T.String() }), T.Object({ b: T.String() })]).properties), ["a", "b"]);
});
test("Parse mends what it can and refuses the rest", () => {
  const { Type: T } = ours;
  const schema = T.Object({ n: T.Number(), flag: T.Boolean({ default: true }) });
  assert.deepEqual(ourValue.Parse(schema, { n: "4", more: 1 }), { n: 4, flag: true });
  assert.throws(() => ourValue.Parse(schema, { n: "x" }), ourValue.ParseError);
});
