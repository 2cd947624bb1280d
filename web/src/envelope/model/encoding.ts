/** How the bytes of a file are text. */

export type Encoding = "utf-8" | "utf-16le" | "utf-16be";

/** Told by the mark that a file begins with; what some programs on Windows write has one. Without it a file is UTF-8. */
export function encodingOf(bytes: Uint8Array): Encoding {
  const [first, second] = bytes;
  return first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** The text without the mark at its beginning; nothing for bytes that are no text. */
export function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
