/**
 * A text with `{name}` replaced by the value of that name, and `{name?one:many}` by the first form if the value is one, else by the second.
 */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)(?:\?([^:{}]*):([^{}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    const value = values[name];
    return one === undefined || many === undefined ? String(value ?? whole) : String(value) === "1" ? one : many;
  });
}

/** A sentence with its full stop, for another one that follows it. */
export function ended(sentence: string): string {
  return /[.!?…。！？]$/.test(sentence) ? sentence : `${sentence}${/\p{Script=Han}$/u.test(sentence) ? "。" : "."}`;
}
