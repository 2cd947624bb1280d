// Template literals: texts such as `a${string}`, or lists of schemas, as patterns.
import { kindOf } from "pi:shim/typebox/kinds";

const PARTS = { string: ".*", number: "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?", integer: "-?(?:0|[1-9][0-9]*)", boolean: "(?:false|true)", bigint: "-?(?:0|[1-9][0-9]*)n" };
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

function inner(schema) {
  if (typeof schema === "string") return escaped(schema);
  if (schema.const !== undefined) return escaped(String(schema.const));
  if (schema.anyOf) return `(?:${schema.anyOf.map(inner).join("|")})`;
  if (schema.enum) return `(?:${schema.enum.map((value) => escaped(String(value))).join("|")})`;
  if (kindOf(schema) === "TemplateLiteral") return schema.pattern.slice(1, -1);
  return PARTS[schema.type] ?? ".*";
}

export function pattern(source) {
  if (Array.isArray(source)) return `^${source.map(inner).join("")}$`;
  const parts = String(source).split(/(\$\{[^}]*\})/).map((part) => {
    const word = /^\$\{\s*([^}]*?)\s*\}$/.exec(part)?.[1];
    if (word === undefined) return escaped(part);
    if (PARTS[word]) return PARTS[word];
    return `(?:${word.split("|").map((choice) => escaped(choice.trim().replace(/^['"]|['"]$/g, ""))).join("|")})`;
  });
  return `^${parts.join("")}$`;
}

/** The texts that a key can be, if they are few: literals and unions of them. */
export function literals(schema) {
  if (schema.const !== undefined) return [String(schema.const)];
  if (!schema.anyOf) return undefined;
  const all = schema.anyOf.map(literals);
  return all.every(Boolean) ? all.flat() : undefined;
}
