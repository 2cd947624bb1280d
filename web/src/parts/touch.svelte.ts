/** Whether a finger is what points here: its keyboard has no key beside Enter that makes a line. */
class Touch {
  private readonly query = matchMedia("(pointer: coarse)");
  current = $state(this.query.matches);

  constructor() {
    this.query.addEventListener("change", () => (this.current = this.query.matches));
  }
}

export const touch = new Touch();
