/** Waits that grow, with some chance in them so that clients do not come back all at once. */
export class Backoff {
  private attempt = 0;

  constructor(
    private readonly firstMs: number,
    private readonly longestMs: number,
  ) {}

  /** How long to wait before the next attempt: between half and all of a time that doubles. */
  next(): number {
    const most = Math.min(this.longestMs, this.firstMs * 2 ** this.attempt);
    this.attempt += 1;
    return most * (0.5 + Math.random() / 2);
  }

  /** It worked: the next failure starts from the beginning. */
  reset(): void {
    this.attempt = 0;
  }
}
