/** Whether there is room for a conversation and what its model saw beside each other. */
class Wide {
  private readonly query = matchMedia("(min-width: 100rem)");
  current = $state(this.query.matches);

  constructor() {
    this.query.addEventListener("change", () => (this.current = this.query.matches));
  }
}

export const wide = new Wide();
