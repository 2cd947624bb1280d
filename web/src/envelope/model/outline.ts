/**
 * The shape that each kind has on the strip, so that it can be told without its colour.
 *
 * A narrow stretch has no room for corners and is a plain block; its height still tells the kind.
 */

import type { Kind } from "./format";

/** From the top, in parts of the height: where a block of this kind begins and ends. */
const EXTENT: Readonly<Record<Kind, readonly [number, number]>> = {
  text: [0.25, 1],
  static_var: [0.5, 0.9],
  system_prompt: [0, 1],
  memory: [0.1, 1],
  skills: [0.18, 0.92],
  tool_overview: [0, 1],
  tool_call_request: [0.3, 0.94],
  tool_call_result: [0.2, 1],
  document: [0.05, 1],
  long_text: [0.1, 1],
  media: [0.12, 0.96],
};

/** The path of a block, in whole pixels where its edges are. */
export function outline(kind: Kind, x: number, width: number, height: number): string {
  const [from, to] = EXTENT[kind];
  const top = Math.round(height * from);
  const bottom = Math.round(height * to);
  const right = x + width;
  const block = `M${x} ${top}H${right}V${bottom}H${x}Z`;
  if (width < 10) {
    return block;
  }
  const cut = Math.min(7, Math.floor(width / 3));
  const middle = (top + bottom) / 2;
  switch (kind) {
    case "text":
    case "tool_overview":
    case "system_prompt":
      return block;
    case "static_var":
      return rounded(x, top, right, bottom, Math.floor((bottom - top) / 2));
    case "skills":
      return rounded(x, top, right, bottom, cut);
    case "media":
      return rounded(x, top, right, bottom, 3);
    case "memory":
      // A bookmark: cut from below.
      return `M${x} ${top}H${right}V${bottom}L${right - cut} ${bottom - cut}L${right - cut * 2} ${bottom}H${x}Z`;
    case "tool_call_request":
      return `M${x} ${top}H${right - cut}L${right} ${middle}L${right - cut} ${bottom}H${x}Z`;
    case "tool_call_result":
      return `M${x} ${top}H${right}V${bottom}H${x}L${x + cut} ${middle}Z`;
    case "document":
      return `M${x} ${top}H${right - cut}L${right} ${top + cut}V${bottom}H${x}Z`;
    case "long_text":
      return torn(x, top, right, bottom);
  }
}

function rounded(x: number, top: number, right: number, bottom: number, radius: number): string {
  const r = Math.max(0, Math.min(radius, Math.floor((right - x) / 2), Math.floor((bottom - top) / 2)));
  const arc = (toX: number, toY: number) => `A${r} ${r} 0 0 1 ${toX} ${toY}`;
  return (
    `M${x + r} ${top}H${right - r}${arc(right, top + r)}V${bottom - r}${arc(right - r, bottom)}` +
    `H${x + r}${arc(x, bottom - r)}V${top + r}${arc(x + r, top)}Z`
  );
}

/** A lower edge in teeth: there is more than is shown. */
function torn(x: number, top: number, right: number, bottom: number): string {
  const teeth = Math.min(200, Math.max(2, Math.round((right - x) / 8)));
  const points = Array.from({ length: teeth * 2 + 1 }, (_, index) => {
    const at = right - ((right - x) * index) / (teeth * 2);
    return `L${Math.round(at * 10) / 10} ${index % 2 === 0 ? bottom : bottom - 4}`;
  });
  return `M${x} ${top}H${right}${points.join("")}Z`;
}
