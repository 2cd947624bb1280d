// `Value`: check, mend and make values by a schema.
import { problems } from "pi:shim/typebox/check";

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** `(schema, value)`, or `(context, schema, value)` with schemas that others refer to. */
const withContext = (act) => (...args) => (args.length > 2 ? act({ ...args[1], $defs: { ...(Array.isArray(args[0]) ? Object.fromEntries(args[0].map((own) => [own.$id, own])) : args[0]), ...args[1].$defs } }, args[2]) : act(args[0], args[1]));

export const Check = withContext((schema, value) => problems(schema, value, true).length === 0);

/** A list of faults, which can be iterated as the old iterator could. */
export const Errors = withContext((schema, value) => {
  const found = problems(schema, value).map((fault) => ({ ...fault, path: fault.instancePath, schema, value: at(value, fault.instancePath) }));
  return Object.defineProperty(found, "First", { value: () => found[0], enumerable: false });
});

const at = (value, path) => path.split("/").slice(1).reduce((own, key) => own?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], value);

export const Clone = (value) => {
  if (Array.isArray(value)) return value.map(Clone);
  if (value instanceof Date) return new Date(value.getTime());
  if (ArrayBuffer.isView(value)) return value.slice();
  return isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value)) ? Object.fromEntries(Object.entries(value).map(([key, own]) => [key, Clone(own)])) : value;
};

/** Fills in what is missing and has a default. */
export const Default = withContext((schema, value) => {
  if (schema.default !== undefined && value === undefined) return Clone(typeof schema.default === "function" ? schema.default() : schema.default);
  if (schema.properties && isRecord(value)) {
    for (const [key, own] of Object.entries(schema.properties)) {
      const made = Default(own, value[key]);
      if (made !== undefined) value[key] = made;
    }
  }
  if (schema.items && Array.isArray(value)) return value.map((item, index) => Default(Array.isArray(schema.items) ? (schema.items[index] ?? {}) : schema.items, item));
  for (const part of schema.allOf ?? []) value = Default(part, value);
  const fitting = schema.anyOf?.find((part) => Check(part, Default(part, Clone(value))));
  return fitting ? Default(fitting, value) : value;
});

/** Numbers, booleans and the like out of texts, where the schema asks for them and nothing is lost. */
export const Convert = withContext((schema, value) => {
  if (schema.anyOf) {
    if (schema.anyOf.some((part) => Check(part, value))) return value;
    for (const part of schema.anyOf) {
      const made = Convert(part, Clone(value));
      if (Check(part, made)) return made;
    }
    return value;
  }
  for (const part of schema.allOf ?? []) value = Convert(part, value);
  if (schema.const !== undefined && value !== schema.const && String(value) === String(schema.const)) return schema.const;
  switch ([schema.type].flat()[0]) {
    case "number": return asNumber(value);
    case "integer": { const number = asNumber(value); return typeof number === "number" ? Math.trunc(number) : number; }
    case "boolean": return value === "true" || value === "1" || value === 1 ? true : value === "false" || value === "0" || value === 0 ? false : value;
    case "string": return typeof value === "number" || typeof value === "boolean" || typeof value === "bigint" ? String(value) : value === null ? "null" : value;
    case "null": return value === "null" || value === "" || value === 0 || value === false ? null : value;
    case "array": {
      const list = Array.isArray(value) ? value : value === undefined || value === null ? value : [value];
      return Array.isArray(list) && schema.items ? list.map((item, index) => Convert(Array.isArray(schema.items) ? (schema.items[index] ?? {}) : schema.items, item)) : list;
    }
    case "object": return isRecord(value) ? convertMembers(schema, value) : value;
    default: return value;
  }
});

function convertMembers(schema, value) {
  const made = { ...value };
  for (const [key, own] of Object.entries(schema.properties ?? {})) if (made[key] !== undefined) made[key] = Convert(own, made[key]);
  for (const [pattern, own] of Object.entries(schema.patternProperties ?? {})) {
    for (const key of Object.keys(made)) if (new RegExp(pattern, "u").test(key) && !Object.hasOwn(schema.properties ?? {}, key)) made[key] = Convert(own, made[key]);
  }
  return made;
}

function asNumber(value) {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Removes members that the schema does not name. */
export const Clean = withContext((schema, value) => {
  if (Array.isArray(value) && schema.items) return value.map((item, index) => Clean(Array.isArray(schema.items) ? (schema.items[index] ?? {}) : schema.items, item));
  if (schema.anyOf) {
    const fitting = schema.anyOf.find((part) => Check(part, value));
    return fitting ? Clean(fitting, value) : value;
  }
  if (!isRecord(value) || (!schema.properties && !schema.allOf)) return value;
  const named = schema.allOf ? Object.assign({}, ...schema.allOf.map((part) => part.properties ?? {})) : schema.properties;
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(named, key)) value[key] = Clean(named[key], value[key]);
    else if (!schema.patternProperties && typeof schema.additionalProperties !== "object" && schema.additionalProperties !== true) delete value[key];
  }
  return value;
});

/** A value that fits: defaults, and otherwise the least of its type. */
export function Create(schema) {
  if (schema.default !== undefined) return Clone(typeof schema.default === "function" ? schema.default() : schema.default);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return Create(schema.anyOf[0]);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(Create));
  switch ([schema.type].flat()[0]) {
    case "string": return " ".repeat(schema.minLength ?? 0);
    case "number": case "integer": return schema.minimum ?? 0;
    case "boolean": return false;
    case "null": return null;
    case "array": return Array.isArray(schema.items) ? schema.items.map(Create) : Array.from({ length: schema.minItems ?? 0 }, () => Create(schema.items ?? {}));
    case "object": return Object.fromEntries((schema.required ?? []).map((key) => [key, Create(schema.properties[key])]));
    default: return {};
  }
}

/** What fits stays, what does not is made anew. */
export function Cast(schema, value) {
  if (Check(schema, value)) return Clone(value);
  const converted = Convert(schema, Clone(value));
  if (Check(schema, converted)) return converted;
  if (schema.properties && isRecord(value)) return Object.fromEntries(Object.entries(schema.properties).filter(([key]) => schema.required?.includes(key) || Object.hasOwn(value, key)).map(([key, own]) => [key, Cast(own, value[key])]));
  if (schema.items && !Array.isArray(schema.items) && Array.isArray(value)) return value.map((item) => Cast(schema.items, item));
  return Create(schema);
}
export const Repair = Cast;

export class AssertError extends Error {
  constructor(schema, value) {
    const found = [...Errors(schema, value)];
    super(found[0]?.message ?? "Assert");
    Object.assign(this, { cause: { source: "Assert", errors: found, value }, error: found[0], value });
  }
  Errors() { return this.cause.errors; }
}
export class ParseError extends AssertError {}

export const Assert = withContext((schema, value) => { if (!Check(schema, value)) throw new AssertError(schema, value); });

/** Defaults, conversion, cleaning, then the check. */
export const Parse = withContext((schema, value) => {
  if (Check(schema, value)) return Clean(schema, Clone(value));
  const made = Clean(schema, Convert(schema, Default(schema, Clone(value))));
  if (!Check(schema, made)) throw new ParseError(schema, made);
  return coded(schema, made, "decode");
});

function coded(schema, value, way) {
  const inner = schema.properties && isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, own]) => [key, schema.properties[key] ? coded(schema.properties[key], own, way) : own])) : schema.items && Array.isArray(value) && !Array.isArray(schema.items) ? value.map((item) => coded(schema.items, item, way)) : value;
  return schema["~codec"] ? schema["~codec"][way](inner) : inner;
}
export const Decode = withContext((schema, value) => { Assert(schema, value); return coded(schema, value, "decode"); });
export const Encode = withContext((schema, value) => { const made = coded(schema, Clone(value), "encode"); Assert(schema, made); return made; });
export const HasCodec = (schema) => JSON.stringify(schema, (key, own) => (own?.["~codec"] ? "~codec~" : own)).includes("~codec~");
export const Equal = (one, other) => one === other || (typeof one === "object" && typeof other === "object" && one !== null && other !== null && Array.isArray(one) === Array.isArray(other) && Object.keys(one).length === Object.keys(other).length && Object.keys(one).every((key) => Object.hasOwn(other, key) && Equal(one[key], other[key])));

export const Value = { Assert, Cast, Check, Clean, Clone, Convert, Create, Decode, Default, Encode, Equal, Errors, HasCodec, Parse, Repair };
export default Value;
