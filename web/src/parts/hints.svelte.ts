/** What the page explains once to whoever sees it for the first time. */
const STORED = "pi.known";

class Hints {
  /** Whether nobody has said yet that he knows what a strip is. */
  isStripNew = $state(!read());

  knowStrip(): void {
    this.isStripNew = false;
    try {
      localStorage.setItem(STORED, "strip");
    } catch {
      // Storage is off: it is explained again the next time.
    }
  }
}

function read(): boolean {
  try {
    return localStorage.getItem(STORED) !== null;
  } catch {
    return false;
  }
}

export const hints = new Hints();
