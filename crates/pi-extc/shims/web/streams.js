// ReadableStream, WritableStream and TransformStream: enough for bodies, iteration and pipes. Not here: byte streams with
// readers of their own buffers (a `byob` reader reads like any other), and transfer to other threads.
export { ByteLengthQueuingStrategy, CountQueuingStrategy } from "pi:shim/web/streams/strategy";
export { ReadableStream, ReadableStreamDefaultController, ReadableStreamDefaultReader } from "pi:shim/web/streams/readable";
export { WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter } from "pi:shim/web/streams/writable";
export { TransformStream, TransformStreamDefaultController } from "pi:shim/web/streams/transform";
export { TextDecoderStream, TextEncoderStream } from "pi:shim/web/encoding";
