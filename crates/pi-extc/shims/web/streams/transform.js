// TransformStream: what is written comes out changed.
import { ReadableStream } from "pi:shim/web/streams/readable";
import { deferred } from "pi:shim/web/streams/strategy";
import { WritableStream } from "pi:shim/web/streams/writable";

export class TransformStreamDefaultController {
  #output;
  #fail;
  #close;
  constructor(output, fail, close) {
    this.#output = output;
    this.#fail = fail;
    this.#close = close;
  }
  get desiredSize() { return this.#output.desiredSize; }
  enqueue(chunk) { this.#output.enqueue(chunk); }
  error(fault) { this.#fail(fault); }
  terminate() { this.#close(); }
}

export class TransformStream {
  #readable;
  #writable;
  constructor(transformer = {}, writableStrategy, readableStrategy = { highWaterMark: 0 }) {
    let output;
    let input;
    let isOver = false;
    // The writer waits until somebody reads.
    let wanted = deferred();
    this.#readable = new ReadableStream({
      start(controller) { output = controller; },
      pull() { wanted.resolve(); },
      async cancel(reason) {
        isOver = true;
        wanted.resolve();
        input.error(reason);
        await transformer.cancel?.(reason);
      },
    }, readableStrategy);
    const fail = (fault) => {
      isOver = true;
      output.error(fault);
      input?.error(fault);
    };
    const close = () => {
      isOver = true;
      output.close();
      input.error(new TypeError("the stream was terminated"));
    };
    const controller = new TransformStreamDefaultController(output, fail, close);
    this.#writable = new WritableStream({
      async start(own) {
        input = own;
        await transformer.start?.(controller);
      },
      async write(chunk) {
        if (output.desiredSize <= 0) {
          await wanted.promise;
          wanted = deferred();
        }
        if (isOver) return;
        try {
          if (transformer.transform) await transformer.transform(chunk, controller);
          else controller.enqueue(chunk);
        } catch (fault) {
          fail(fault);
          throw fault;
        }
      },
      async close() {
        if (isOver) return;
        try {
          await transformer.flush?.(controller);
          if (!isOver) output.close();
        } catch (fault) {
          fail(fault);
          throw fault;
        }
      },
      async abort(reason) {
        output.error(reason);
        await transformer.cancel?.(reason);
      },
    }, writableStrategy);
  }
  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
  get [Symbol.toStringTag]() { return "TransformStream"; }
}
