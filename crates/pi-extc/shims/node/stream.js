// node:stream. Byte streams to and from other threads are not here: there are none.
import { Stream } from "pi:shim/node/stream/base";
import { Duplex, PassThrough, Transform } from "pi:shim/node/stream/duplex";
import { addAbortSignal, compose, finished, pipeline } from "pi:shim/node/stream/pipeline";
import promises from "pi:shim/node/stream/promises";
import { Readable } from "pi:shim/node/stream/readable";
import { Writable } from "pi:shim/node/stream/writable";

const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");
pipeline[PROMISIFY] = promises.pipeline;
finished[PROMISIFY] = promises.finished;

export const isErrored = (stream) => !!stream?.errored;
export const isReadable = (stream) => !!stream?.readable;
export const isDisturbed = Readable.isDisturbed;
let [bytes, objects] = [16384, 16];
export const getDefaultHighWaterMark = (isObjectMode) => (isObjectMode ? objects : bytes);
export function setDefaultHighWaterMark(isObjectMode, value) {
  if (isObjectMode) objects = value;
  else bytes = value;
}

export { addAbortSignal, compose, Duplex, finished, PassThrough, pipeline, promises, Readable, Stream, Transform, Writable };
Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, compose, addAbortSignal, promises, isErrored, isReadable,
  isDisturbed, getDefaultHighWaterMark, setDefaultHighWaterMark,
});
export default Stream;
