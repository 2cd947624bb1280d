/** Takes the focus from wherever it is; the attribute `autofocus` only takes one that nothing has. */
export function takeFocus(node: HTMLElement): void {
  node.focus();
}

/** For so long after something took the focus by itself, keys decide nothing there: they were meant for something else. */
export const QUIET_MS = 700;

/** Whether the focus can be taken: nobody has it. Whoever is in a field writes, also if it is still empty. */
export function isFocusFree(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
