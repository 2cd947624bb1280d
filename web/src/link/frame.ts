/**
 * Work once per frame. Events come by the thousand; drawing each would leave no time for typing. They are taken up as they come and
 * applied together, just before the browser draws.
 */

/** How long a page that nobody sees waits; browsers draw no frames for it. */
const UNSEEN_MS = 250;

export class PerFrame<Item> {
  private items: Item[] = [];
  private isAsked = false;

  constructor(private readonly apply: (items: Item[]) => void) {}

  push(item: Item): void {
    this.items.push(item);
    if (!this.isAsked) {
      this.isAsked = true;
      if (document.visibilityState === "visible") {
        requestAnimationFrame(() => this.flush());
      } else {
        setTimeout(() => this.flush(), UNSEEN_MS);
      }
    }
  }

  /** Applies what there is now. */
  flush(): void {
    this.isAsked = false;
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
