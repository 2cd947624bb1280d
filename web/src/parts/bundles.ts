/**
 * Many things of one kind, in bundles. A bundle that is full never changes: whoever draws a growing list looks at its last bundle only,
 * and tells by identity that the others are what they were.
 */
export type Bundles<T> = readonly (readonly T[])[];

const SIZE = 64;

export function bundle<T>(all: readonly T[]): Bundles<T> {
  const gathering = new Gathering<T>();
  all.forEach((one) => gathering.push(one));
  return gathering.all();
}

/** Bundles to which things are added at the end. */
export class Gathering<T> {
  private readonly full: (readonly T[])[] = [];
  private last: T[] = [];

  get count(): number {
    return this.full.length * SIZE + this.last.length;
  }

  push(one: T): void {
    this.last.push(one);
    if (this.last.length === SIZE) {
      this.full.push(this.last);
      this.last = [];
    }
  }

  /** What was gathered, with something behind it that may still change. */
  all(...open: readonly T[]): Bundles<T> {
    const last = [...this.last, ...open];
    return last.length === 0 ? [...this.full] : [...this.full, last];
  }

  /** Another one that goes on by itself. Full bundles are shared. */
  copy(): Gathering<T> {
    const copy = new Gathering<T>();
    copy.full.push(...this.full);
    copy.last = [...this.last];
    return copy;
  }
}
