// The marks that typebox puts on schemas: members that JSON does not show.

export const hidden = (target, name, value) => Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

/** A schema of a kind: what belongs to the kind first, then what the caller adds. */
export function make(kind, members, options) {
  return hidden({ ...members, ...options }, "~kind", kind);
}

export const kindOf = (schema) => schema?.["~kind"] ?? schema?.[Symbol.for("TypeBox.Kind")];
export const isOptional = (schema) => schema?.["~optional"] === true || schema?.[Symbol.for("TypeBox.Optional")] === "Optional";
export const isReadonly = (schema) => schema?.["~readonly"] === true;

/** A copy with its marks, which a spread would lose. */
export function copy(schema) {
  return Object.create(Object.getPrototypeOf(schema), Object.getOwnPropertyDescriptors(schema));
}

export function mark(schema, name, isOn) {
  const made = copy(schema);
  if (isOn) return hidden(made, `~${name}`, true);
  delete made[`~${name}`];
  return made;
}
