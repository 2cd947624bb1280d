// Schemas made from schemas: parts of objects, keys, records, unions without members. And what tells schemas apart.
import { isOptional, isReadonly, kindOf } from "pi:shim/typebox/kinds";
import { literals } from "pi:shim/typebox/template";

/** Checks of string formats that an extension registered. */
export const formats = new Map();

/** All members of objects and of what is made of objects; members of several that have one name are both asked for. */
export function merged(schemas) {
  const properties = {};
  for (const schema of schemas) {
    for (const [key, own] of Object.entries(schema.allOf ? merged(schema.allOf) : (schema.properties ?? {}))) properties[key] = own;
  }
  return properties;
}

const propertiesOf = (schema) => (schema.allOf ? merged(schema.allOf) : (schema.properties ?? {}));

export function each(build, schema, options, change) {
  if (schema.anyOf) return build.Union(schema.anyOf.map((own) => each(build, own, undefined, change)), options);
  return build.Object(Object.fromEntries(Object.entries(propertiesOf(schema)).map(([key, own]) => [key, change(own)])), options);
}

/** The keys that a caller names: a list, a literal, or a union of literals. */
function keyList(keys) {
  if (Array.isArray(keys)) return keys.map(String);
  if (typeof keys === "string" || typeof keys === "number") return [String(keys)];
  if (keys.anyOf) return keys.anyOf.flatMap(keyList);
  if (keys.enum) return keys.enum.map(String);
  return keys.const === undefined ? [] : [String(keys.const)];
}

export function only(build, schema, options, keys, isKept) {
  if (schema.anyOf) return build.Union(schema.anyOf.map((own) => only(build, own, undefined, keys, isKept)), options);
  const named = new Set(keyList(keys));
  return build.Object(Object.fromEntries(Object.entries(propertiesOf(schema)).filter(([key]) => named.has(key) === isKept)), options);
}

export function keys(build, schema, options) {
  const names = Object.keys(propertiesOf(schema)).map((key) => build.Literal(key));
  if (names.length === 0) return build.Never(options);
  return names.length === 1 ? Object.assign(names[0], options) : build.Union(names, options);
}

export function index(build, schema, wanted, options) {
  const names = keyList(wanted);
  const found = schema.items && !Array.isArray(schema.items) ? [schema.items] : names.map((name) => (Array.isArray(schema.items) ? schema.items[name] : propertiesOf(schema)[name])).filter(Boolean);
  if (found.length === 0) return build.Never(options);
  return found.length === 1 ? found[0] : build.Union(found, options);
}

function fits(schema, other) {
  if (other.anyOf) return other.anyOf.some((own) => fits(schema, own));
  if (schema.const !== undefined) return other.const !== undefined ? schema.const === other.const : other.type === typeof schema.const;
  return kindOf(schema) === kindOf(other) && JSON.stringify(schema) === JSON.stringify(other);
}

export function sift(build, schema, other, options, isKept) {
  const all = schema.anyOf ?? [schema];
  const left = all.filter((own) => fits(own, other) === isKept);
  if (left.length === 0) return build.Never(options);
  return left.length === 1 ? left[0] : build.Union(left, options);
}

const PATTERNS = { String: "^.*$", Any: "^.*$", Number: "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$", Integer: "^-?(?:0|[1-9][0-9]*)$" };

export function record(build, key, value, options) {
  const finite = key.enum ? key.enum : literals(key);
  if (finite) return build.Object(Object.fromEntries(finite.map((name) => [name, value])), options);
  const made = build.Object({}, undefined);
  const pattern = key.pattern ?? PATTERNS[kindOf(key)] ?? PATTERNS.String;
  delete made.properties;
  Object.defineProperty(made, "~kind", { value: "Record", writable: true, configurable: true });
  return Object.assign(made, { patternProperties: { [pattern]: value } }, options);
}

const isSchema = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const guards = { IsSchema: isSchema, IsKind: (value, kind) => kindOf(value) === kind, IsOptional: isOptional, IsReadonly: isReadonly, IsUnsafe: (value) => isSchema(value) && Object.hasOwn(value, "~unsafe"), IsCodec: (value) => isSchema(value) && Object.hasOwn(value, "~codec") };
for (const kind of ["Any", "Array", "BigInt", "Boolean", "Constructor", "Cyclic", "Enum", "Function", "Integer", "Intersect", "Literal", "Never", "Null", "Number", "Object", "Record", "Ref", "String", "Symbol", "TemplateLiteral", "This", "Tuple", "Undefined", "Union", "Unknown", "Void"]) {
  guards[`Is${kind}`] = (value) => kindOf(value) === kind;
}
