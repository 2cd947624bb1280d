/** How each kind is drawn: its sign, in a field of 16 by 16, and the name of its colour. */

import type { Kind } from "./model/format";

export const SIGNS: Readonly<Record<Kind, string>> = {
  text: "M2.5 4h11M2.5 8h11M2.5 12h6.5",
  static_var:
    "M6 2.5c-1.8 0-1.8 1-1.8 2v1.8c0 1.1-.9 1.7-1.7 1.7.8 0 1.7.6 1.7 1.7v1.8c0 1 0 2 1.8 2M10 2.5c1.8 0 1.8 1 1.8 2v1.8c0 1.1.9 1.7 1.7 1.7-.8 0-1.7.6-1.7 1.7v1.8c0 1 0 2-1.8 2",
  system_prompt: "M3 1.8h10v12.4H3zM5.4 4.8h5.2M5.4 7.4h5.2M5.4 10h3",
  memory: "M4 1.8h8v12.4l-4-3.2-4 3.2z",
  skills: "M8 1.6l1.7 4.7L14.4 8l-4.7 1.7L8 14.4 6.3 9.7 1.6 8l4.7-1.7z",
  tool_overview: "M1.8 3h12.4v10H1.8zM1.8 6.4h12.4M6.2 3v10",
  tool_call_request: "M2.8 4l4 4-4 4M8.4 12h5",
  tool_call_result: "M13 3v4.6a2.4 2.4 0 0 1-2.4 2.4H3.4M6.4 6.8L3.2 10l3.2 3.2",
  document: "M3.6 1.8h5.6l3.4 3.4v9H3.6zM9 1.8v3.6h3.6",
  long_text: "M3 2.6h10M3 5.2h10M3 7.8h10M3 10.4h10M3 13h3.4M9 13h4",
  media: "M1.8 3h12.4v10H1.8zM2 11.4l3.6-3.6 3.2 3.2 2-2 3.2 3.2M10.6 6.1h.1",
};

export const colourOf = (kind: Kind): string => `var(--kind-${kind.replaceAll("_", "-")})`;
