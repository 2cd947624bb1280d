// `Type`: schemas as typebox 1.x makes them, which Pi gives to both names of the package. What only the older one had
// (Not, Recursive, Composite, Date, Promise …) is here as well, in its old form. Not here: Script, Module, Generic and the
// rest of the type language.
import { hidden, isOptional, make, mark } from "pi:shim/typebox/kinds";
import * as shapes from "pi:shim/typebox/shapes";
import { pattern } from "pi:shim/typebox/template";

const plain = (kind, type) => (options) => make(kind, type === undefined ? {} : { type }, options);

const String_ = plain("String", "string");
const Number_ = plain("Number", "number");
const Boolean_ = plain("Boolean", "boolean");
const Symbol_ = plain("Symbol", "symbol");
const BigInt_ = plain("BigInt", "bigint");
const Date_ = plain("Date", "Date");
const Integer = plain("Integer", "integer");
const Null = plain("Null", "null");
const Undefined = plain("Undefined", "undefined");
const Void = plain("Void", "void");
const Any = plain("Any");
const Unknown = plain("Unknown");
const Never = (options) => make("Never", { not: {} }, options);
const Uint8Array_ = plain("Uint8Array", "Uint8Array");

function Object_(properties = {}, options) {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
  return make("Object", { type: "object", ...(required.length > 0 && { required }), properties: { ...properties } }, options);
}

const Array_ = (items, options) => make("Array", { type: "array", items }, options);
const Tuple = (items = [], options) => make("Tuple", { type: "array", additionalItems: false, items, minItems: items.length }, options);
const Literal = (value, options) => make("Literal", { type: typeof value, const: value }, options);
const Union = (anyOf = [], options) => make("Union", { anyOf }, options);
const Intersect = (allOf = [], options) => make("Intersect", { allOf }, options);
const Not = (schema, options) => make("Not", { not: schema }, options);
const Ref = (target, options) => make("Ref", { $ref: typeof target === "string" ? target : target.$id }, options);
const Unsafe = (schema = {}) => hidden({ ...schema }, "~unsafe", null);
const Enum = (values, options) => make("Enum", { enum: Array.isArray(values) ? [...values] : Object.entries(values).filter(([key]) => !/^\d+$/.test(key)).map(([, value]) => value) }, options);
const Optional = (schema, isOn = true) => mark(schema, "optional", isOn !== false);
const Readonly = (schema, isOn = true) => mark(schema, "readonly", isOn !== false);
const ReadonlyOptional = (schema) => Readonly(Optional(schema));
const TemplateLiteral = (source, options) => make("TemplateLiteral", { type: "string", pattern: pattern(source) }, options);
const RegExp_ = (source, options) => make("RegExp", typeof source === "string" ? { type: "RegExp", source, flags: "" } : { type: "RegExp", source: source.source, flags: source.flags }, options);
const Function_ = (parameters, returnType, options) => make("Function", { type: "function", parameters, returnType }, options);
const Constructor = (parameters, instanceType, options) => make("Constructor", { type: "constructor", parameters, instanceType }, options);
const Promise_ = (item, options) => make("Promise", { type: "Promise", item }, options);
const Identifier = (name) => make("Identifier", { type: "identifier", name });
const Rest = (items) => make("Rest", { type: "rest", items });
const With = (schema, options) => Object.assign(mark(schema, "with", false), options);

function Cyclic(defs, ref, options) {
  const $defs = Object.fromEntries(Object.entries(defs).map(([name, schema]) => [name, With(schema, { $id: name })]));
  return make("Cyclic", { $defs, $ref: ref }, options);
}

let lastRecursive = 0;
/** The old way to a schema that contains itself. */
function Recursive(build, options = {}) {
  const $id = options.$id ?? `T${lastRecursive++}`;
  return With(build(make("This", { $ref: $id })), { ...options, $id });
}

/** A schema with a way to read and to write; `Value.Decode` and `Value.Encode` go it. */
function Codec(schema) {
  return {
    Decode: (decode) => ({ Encode: (encode) => hidden(mark(schema, "codec", false), "~codec", { decode, encode }) }),
  };
}
const Refine = (schema, check, message = () => "must match refinement") => hidden(mark(schema, "refine", false), "~refine", [...(schema["~refine"] ?? []), { check, message: typeof message === "function" ? message : () => message }]);

const Const = (value, options) => (Array.isArray(value) ? Tuple(value.map((item) => Const(item)), options) : value !== null && typeof value === "object" ? Object_(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, Const(item)])), options) : value === null ? Null(options) : value === undefined ? Undefined(options) : Literal(value, options));
const Composite = (schemas, options) => Object_(shapes.merged(schemas), options);
const Interface = (heritage, properties, options) => Object_({ ...shapes.merged(heritage), ...properties }, options);
const Evaluate = (schema) => (schema.allOf ? Object_(shapes.merged(schema.allOf)) : schema);
const ReadonlyType = (schema) => (schema.properties ? Object_(Object.fromEntries(Object.entries(schema.properties).map(([key, own]) => [key, Readonly(own)]))) : Readonly(schema));

const build = { Object: Object_, Union, Literal, String: String_, Number: Number_, Optional, Never, Array: Array_ };
const Partial = (schema, options) => shapes.each(build, schema, options, (own) => Optional(own));
const Required = (schema, options) => shapes.each(build, schema, options, (own) => Optional(own, false));
const Pick = (schema, keys, options) => shapes.only(build, schema, options, keys, true);
const Omit = (schema, keys, options) => shapes.only(build, schema, options, keys, false);
const KeyOf = (schema, options) => shapes.keys(build, schema, options);
const Index = (schema, keys, options) => shapes.index(build, schema, keys, options);
const Exclude = (schema, away, options) => shapes.sift(build, schema, away, options, false);
const Extract = (schema, kept, options) => shapes.sift(build, schema, kept, options, true);
const Record = (key, value, options) => shapes.record(build, key, value, options);
const NonNullable = (schema) => shapes.sift(build, schema, Union([Null(), Undefined()]), undefined, false);
const Awaited = (schema) => schema.item ?? schema;
const Parameters = (schema, options) => Tuple(schema.parameters, options);
const ReturnType = (schema) => schema.returnType ?? schema.returns;
const ConstructorParameters = Parameters;
const InstanceType = (schema) => schema.instanceType ?? schema.returns;
const changed = (change) => (schema) => (schema.anyOf ? Union(schema.anyOf.map((own) => changed(change)(own))) : typeof schema.const === "string" ? Literal(change(schema.const)) : schema);
const Uppercase = changed((text) => text.toUpperCase());
const Lowercase = changed((text) => text.toLowerCase());
const Capitalize = changed((text) => text.slice(0, 1).toUpperCase() + text.slice(1));
const Uncapitalize = changed((text) => text.slice(0, 1).toLowerCase() + text.slice(1));
const Transform = (schema) => Codec(schema);

export const Type = {
  Any, Array: Array_, Awaited, BigInt: BigInt_, Boolean: Boolean_, Capitalize, Codec, Composite, Const, Constructor, ConstructorParameters, Cyclic, Date: Date_,
  Enum, Evaluate, Exclude, Extract, Function: Function_, Identifier, Index, InstanceType, Integer, Interface, Intersect, KeyOf, Literal, Lowercase,
  Never, NonNullable, Not, Null, Number: Number_, Object: Object_, Omit, Optional, Parameters, Partial, Pick, Promise: Promise_, Readonly, ReadonlyOptional,
  ReadonlyType, Record, Recursive, Ref, Refine, RegExp: RegExp_, Required, Rest, ReturnType, String: String_, Symbol: Symbol_, TemplateLiteral,
  Transform, Tuple, Uint8Array: Uint8Array_, Uncapitalize, Undefined, Union, Unknown, Unsafe, Uppercase, Void, With,
  ...shapes.guards,
};
// In the newest versions the namespace itself has all of them too.
export {
  Any, Array_ as Array, Boolean_ as Boolean, BigInt_ as BigInt, Codec, Composite, Const, Cyclic, Date_ as Date, Enum, Evaluate, Exclude, Extract, Function_ as Function,
  Index, Integer, Interface, Intersect, KeyOf, Literal, Never, Not, Null, Number_ as Number, Object_ as Object, Omit, Optional, Partial, Pick, Promise_ as Promise, Readonly,
  ReadonlyOptional, Record, Recursive, Ref, Refine, Required, String_ as String, Symbol_ as Symbol, TemplateLiteral, Transform, Tuple, Undefined, Union, Unknown,
  Unsafe, Void, With,
};
export const Kind = Symbol.for("TypeBox.Kind");
export const { IsSchema, IsKind, IsString, IsNumber, IsBoolean, IsObject, IsArray, IsUnion, IsLiteral, IsOptional, IsReadonly, IsEnum, IsRef, IsNull } = shapes.guards;
export const TypeGuard = shapes.guards;
export const FormatRegistry = {
  Has: (name) => shapes.formats.has(name), Set: (name, check) => void shapes.formats.set(name, check), Get: (name) => shapes.formats.get(name), Delete: (name) => shapes.formats.delete(name), Clear: () => shapes.formats.clear(),
};
export const TypeRegistry = { Has: () => false, Set() {}, Get: () => undefined, Delete: () => false, Clear() {} };
export default Type;
