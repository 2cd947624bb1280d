import type { AgentEvent, ToolOutput } from "./wire.js";

/**
 * The output of a tool call so far, from an update and what it was before. After `subscribe` an update of a long text tells only
 * what came to its end (`delta`) and how many characters went from its beginning (`dropped`); all others tell the whole.
 */
export function outputSoFar(
  before: ToolOutput | undefined,
  update: Extract<AgentEvent, { type: "tool_execution_update" }>,
): ToolOutput {
  const { partialResult, delta, dropped = 0 } = update;
  if (delta === undefined) {
    return partialResult;
  }
  const block = before?.content[0];
  const text = block?.type === "text" ? String(block.text) : "";
  return { ...partialResult, content: [{ type: "text", text: withoutBeginning(text, dropped) + delta }] };
}

/** The characters are code points, and not the units that strings are made of here. */
function withoutBeginning(text: string, characters: number): string {
  let units = 0;
  for (let left = characters; left > 0 && units < text.length; left -= 1) {
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(units);
}
