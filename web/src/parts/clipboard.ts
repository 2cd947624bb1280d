/**
 * Puts text on the clipboard, and says whether it is there. A page that came over plain HTTP from another machine is given no clipboard by
 * its browser; there the old way is tried, by a selection.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const active = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  // A dialog lets nothing outside of it take the focus.
  (active?.closest("dialog") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (active instanceof HTMLElement) {
    active.focus({ preventScroll: true });
  }
  return isCopied;
}
