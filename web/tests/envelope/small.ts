/** The smallest prompts: segments in one message, with nothing told about them. */
import type { Envelope, Segment } from "../../src/envelope/model/format";

export function prompt(segments: readonly Segment[], id = "m1"): Envelope {
  return { version: "1.0", model: "m", messages: [{ id, role: "user", timestamp: 0, segments: [...segments] }] };
}

export const said = (content: string): Segment => ({ kind: "text", content });
