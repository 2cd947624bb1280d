/** Takes the focus from wherever it is; the attribute `autofocus` only takes one that nothing has. */
export function takeFocus(node: HTMLElement): void {
  node.focus();
}
