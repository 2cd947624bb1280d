// node:stream/promises.
import * as callbacks from "pi:shim/node/stream/pipeline";

const isOptions = (value) => value !== null && typeof value === "object" && !value._readableState && !value._writableState && typeof value.pipe !== "function" && !value[Symbol.asyncIterator] && !value[Symbol.iterator] && typeof value.getWriter !== "function";

export function pipeline(...parts) {
  const options = isOptions(parts.at(-1)) ? parts.pop() : {};
  return new Promise((resolve, reject) => {
    callbacks.connect(callbacks.listOf(parts), options, (problem, value) => (problem ? reject(problem) : resolve(value)));
  });
}

export function finished(stream, options = {}) {
  return new Promise((resolve, reject) => {
    callbacks.finished(stream, options, (problem) => (problem ? reject(problem) : resolve()));
  });
}

export default { pipeline, finished };
