/** Canonical JSON (RFC 8785): one text for one meaning. Members are sorted by UTF-16 units, numbers printed as ECMAScript does. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
