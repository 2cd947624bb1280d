// Where the cursor of the terminal belongs: an escape of no width that whoever draws takes out.
export const CURSOR_MARKER = "\x1b_pi:c\x07";
export const isFocusable = (component) => component !== null && component !== undefined && "focused" in component;
