// How full a stream is.

export class CountQueuingStrategy {
  constructor({ highWaterMark }) { this.highWaterMark = highWaterMark; }
  size() { return 1; }
}

export class ByteLengthQueuingStrategy {
  constructor({ highWaterMark }) { this.highWaterMark = highWaterMark; }
  size(chunk) { return chunk.byteLength; }
}

export const limitOf = (strategy, fallback) => ({ mark: strategy?.highWaterMark ?? fallback, size: strategy?.size ? (chunk) => strategy.size(chunk) : () => 1 });

/** A promise with its two ends. */
export function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((...ends) => { [resolve, reject] = ends; });
  return { promise, resolve, reject };
}

/** Nobody has to look at this promise. */
export function quiet(promise) {
  promise.catch(() => {});
  return promise;
}
