// Values against JSON Schema, with the messages of typebox 1.x.
import { formats } from "pi:shim/typebox/shapes";

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isType = (value, type) => {
  switch (type) {
    case "string": case "boolean": case "symbol": case "bigint": case "undefined": case "function": return typeof value === type;
    case "number": return typeof value === "number" && Number.isFinite(value);
    case "integer": return Number.isInteger(value);
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return isRecord(value);
    case "void": return value === undefined;
    case "Date": return value instanceof Date;
    case "Uint8Array": return value instanceof Uint8Array;
    default: return true;
  }
};

const equal = (one, other) => one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));

/** Formats that many use; others pass unless an extension registered them. */
const FORMATS = {
  email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, date: /^\d{4}-\d\d-\d\d$/, time: /^\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/i,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i, uri: /^[a-z][a-z0-9+.-]*:\S*$/i, url: /^https?:\/\/\S+$/i, ipv4: /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/,
};

/** Collects what is wrong; stops at the first fault if `first` is set. */
export function problems(schema, value, first = false) {
  const found = [];
  const root = schema;
  const report = (keyword, path, message, params = {}) => { found.push({ keyword, schemaPath: `#/${keyword}`, instancePath: path, params, message }); };

  const visit = (own, item, path, scope) => {
    if (first && found.length > 0) return;
    if (own === true || own === undefined) return;
    if (own === false) return void report("boolean", path, "schema is false");
    if (own.$ref !== undefined) {
      const target = own.$defs?.[own.$ref] ?? find(own.$ref, scope);
      if (target && target !== own) visit(target, item, path, [own, ...scope]);
      return;
    }
    const inside = own.$id || own.$defs ? [own, ...scope] : scope;
    plain(own, item, path);
    if (typeof item === "string") text(own, item, path);
    if (typeof item === "number" || typeof item === "bigint") number(own, item, path);
    if (Array.isArray(item)) list(own, item, path, inside);
    if (isRecord(item)) record(own, item, path, inside);
    combined(own, item, path, inside);
    for (const { check, message } of own["~refine"] ?? []) if (!check(item)) report("~refine", path, message(item));
  };

  const find = (name, scope) => {
    for (const place of [...scope, root]) {
      if (place.$id === name) return place;
      const key = name.replace(/^#\/(?:\$defs|definitions)\//, "");
      const target = place.$defs?.[key] ?? place.definitions?.[key];
      if (target) return target;
    }
    return name === "#" ? root : undefined;
  };

  const plain = (own, item, path) => {
    if (own.type !== undefined) {
      const types = [own.type].flat();
      if (!types.some((type) => isType(item, type))) report("type", path, `must be ${types.length > 1 ? `either ${types.join(" or ")}` : types[0]}`, { type: own.type });
    }
    if ("const" in own && !equal(item, own.const)) report("const", path, "must be equal to constant", { allowedValue: own.const });
    if (own.enum && !own.enum.some((allowed) => equal(item, allowed))) report("enum", path, "must be equal to one of the allowed values", { allowedValues: own.enum });
  };

  const text = (own, item, path) => {
    if (own.minLength !== undefined && [...item].length < own.minLength) report("minLength", path, `must not have fewer than ${own.minLength} characters`, { limit: own.minLength });
    if (own.maxLength !== undefined && [...item].length > own.maxLength) report("maxLength", path, `must not have more than ${own.maxLength} characters`, { limit: own.maxLength });
    if (own.pattern !== undefined && !new RegExp(own.pattern, "u").test(item)) report("pattern", path, `must match pattern "${own.pattern}"`, { pattern: own.pattern });
    if (own.format !== undefined) {
      const check = formats.get(own.format) ?? (FORMATS[own.format] && ((value) => FORMATS[own.format].test(value)));
      if (check && !check(item)) report("format", path, `must match format "${own.format}"`, { format: own.format });
    }
  };

  const number = (own, item, path) => {
    const checks = [["minimum", (limit) => item >= limit, ">="], ["maximum", (limit) => item <= limit, "<="], ["exclusiveMinimum", (limit) => item > limit, ">"], ["exclusiveMaximum", (limit) => item < limit, "<"]];
    for (const [keyword, holds, comparison] of checks) if (own[keyword] !== undefined && !holds(own[keyword])) report(keyword, path, `must be ${comparison} ${own[keyword]}`, { comparison, limit: own[keyword] });
    if (own.multipleOf !== undefined) {
      const times = Number(item) / Number(own.multipleOf);
      if (Math.abs(times - Math.round(times)) > 1e-9) report("multipleOf", path, `must be multiple of ${own.multipleOf}`, { multipleOf: own.multipleOf });
    }
  };

  const list = (own, item, path, scope) => {
    if (Array.isArray(own.items)) {
      own.items.forEach((part, at) => { if (at < item.length) visit(part, item[at], `${path}/${at}`, scope); });
      if (own.additionalItems === false && item.length > own.items.length) report("additionalItems", path, `must not have more than ${own.items.length} items`, { limit: own.items.length });
    } else if (own.items !== undefined) item.forEach((part, at) => visit(own.items, part, `${path}/${at}`, scope));
    if (own.minItems !== undefined && item.length < own.minItems) report("minItems", path, `must not have fewer than ${own.minItems} items`, { limit: own.minItems });
    if (own.maxItems !== undefined && item.length > own.maxItems) report("maxItems", path, `must not have more than ${own.maxItems} items`, { limit: own.maxItems });
    if (own.uniqueItems && new Set(item.map((part) => JSON.stringify(part))).size < item.length) report("uniqueItems", path, "must not have duplicate items", { duplicateItems: [] });
    if (own.contains !== undefined && !item.some((part) => problems(own.contains, part, true).length === 0)) report("contains", path, "must contain at least 1 valid item");
  };

  const record = (own, item, path, scope) => {
    const missing = (own.required ?? []).filter((key) => !Object.hasOwn(item, key));
    if (missing.length > 0) report("required", path, `must have required properties ${missing.join(", ")}`, { requiredProperties: missing });
    const matchers = Object.entries(own.patternProperties ?? {}).map(([pattern, schema_]) => [new RegExp(pattern, "u"), schema_]);
    const extra = [];
    for (const [key, part] of Object.entries(item)) {
      const at = `${path}/${key.replace(/~/g, "~0").replace(/\//g, "~1")}`;
      const known = own.properties && Object.hasOwn(own.properties, key) ? [own.properties[key]] : [];
      const schemas = [...known, ...matchers.filter(([pattern]) => pattern.test(key)).map(([, schema_]) => schema_)];
      for (const schema_ of schemas) if (part !== undefined || !schema_?.["~optional"]) visit(schema_, part, at, scope);
      if (schemas.length > 0 || own.additionalProperties === undefined || own.additionalProperties === true) continue;
      const before = found.length;
      visit(own.additionalProperties, part, at, scope);
      if (found.length > before) extra.push(key);
    }
    if (extra.length > 0 && own.additionalProperties === false) report("additionalProperties", path, "must not have additional properties", { additionalProperties: extra });
    const count = Object.keys(item).length;
    if (own.minProperties !== undefined && count < own.minProperties) report("minProperties", path, `must not have fewer than ${own.minProperties} properties`, { limit: own.minProperties });
    if (own.maxProperties !== undefined && count > own.maxProperties) report("maxProperties", path, `must not have more than ${own.maxProperties} properties`, { limit: own.maxProperties });
  };

  const within = (own, item, path, scope) => {
    const start = found.length;
    const wasFirst = first;
    first = false;
    visit(own, item, path, scope);
    first = wasFirst;
    return found.splice(start);
  };

  const combined = (own, item, path, scope) => {
    for (const part of own.allOf ?? []) visit(part, item, path, scope);
    if (own.anyOf) {
      const all = own.anyOf.map((part) => within(part, item, path, scope));
      if (!all.some((faults) => faults.length === 0)) {
        found.push(...all.flat());
        report("anyOf", path, "must match a schema in anyOf");
      }
    }
    if (own.oneOf) {
      const passing = own.oneOf.filter((part) => within(part, item, path, scope).length === 0);
      if (passing.length !== 1) report("oneOf", path, "must match exactly one schema in oneOf", { passingSchemas: [] });
    }
    if (own.not !== undefined && within(own.not, item, path, scope).length === 0) report("not", path, "must not be valid");
  };

  visit(schema, value, "", []);
  return found;
}
