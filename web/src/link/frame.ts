/**
 * Work once per frame. Events come by the thousand; drawing each would leave no time for typing. They are taken up as they come and
 * applied together, just before the browser draws.
 */

/** How long they wait at the most: browsers draw no frames for a page that nobody sees, nor for one that is hidden meanwhile. */
const UNSEEN_MS = 250;

export class PerFrame<Item> {
  private items: Item[] = [];
  private asked: { frame: number; timer: ReturnType<typeof setTimeout> } | undefined;

  constructor(private readonly apply: (items: Item[]) => void) {}

  push(item: Item): void {
    this.items.push(item);
    this.asked ??= {
      frame: requestAnimationFrame(() => this.flush()),
      timer: setTimeout(() => this.flush(), UNSEEN_MS),
    };
  }

  /** Applies what there is now. */
  flush(): void {
    if (this.asked !== undefined) {
      cancelAnimationFrame(this.asked.frame);
      clearTimeout(this.asked.timer);
      this.asked = undefined;
    }
    const items = this.items;
    if (items.length > 0) {
      this.items = [];
      this.apply(items);
    }
  }

  clear(): void {
    this.items = [];
  }
}
