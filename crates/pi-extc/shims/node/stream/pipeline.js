// `finished` and `pipeline`, with callbacks; the promises stand in stream/promises.
import { abortFault, fault } from "pi:shim/node/stream/base";
import { Duplex, PassThrough } from "pi:shim/node/stream/duplex";
import { Readable } from "pi:shim/node/stream/readable";

const isReadable = (stream) => stream?._readableState !== undefined || (stream?._writableState === undefined && typeof stream?.pipe === "function" && stream.readable !== false);
const isWritable = (stream) => stream?._writableState !== undefined || typeof stream?.write === "function";

/** Calls back once the stream is over, with the error if it ended badly. Returns what stops the watching. */
export function finished(stream, options, callback) {
  if (typeof options === "function") [callback, options] = [options, {}];
  const wantsRead = (options.readable ?? isReadable(stream)) && isReadable(stream);
  const wantsWrite = (options.writable ?? isWritable(stream)) && isWritable(stream);
  let hasRead = !wantsRead || !!stream.readableEnded;
  let hasWritten = !wantsWrite || !!stream.writableFinished;
  let isOver = false;
  const over = (problem) => {
    if (isOver) return;
    isOver = true;
    clean();
    callback.call(stream, problem);
  };
  const check = () => { if (hasRead && hasWritten) over(); };
  const onEnd = () => { hasRead = true; check(); };
  const onFinish = () => { hasWritten = true; check(); };
  const onClose = () => {
    if (stream.errored) return over(stream.errored);
    return hasRead && hasWritten ? over() : over(fault("ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
  };
  const onAbort = () => over(abortFault(options.signal));
  const listeners = [["end", onEnd], ["finish", onFinish], ["error", over], ["close", onClose]];
  for (const [event, listener] of listeners) stream.on(event, listener);
  options.signal?.addEventListener("abort", onAbort, { once: true });
  function clean() {
    for (const [event, listener] of listeners) if (event !== "error") stream.removeListener(event, listener);
    // An error may still be under way to a stream that was watched to its end.
    queueMicrotask(() => queueMicrotask(() => stream.removeListener("error", over)));
    options.signal?.removeEventListener("abort", onAbort);
  }
  if (options.signal?.aborted) queueMicrotask(onAbort);
  else if (stream.closed || stream._life?.closed) queueMicrotask(onClose);
  else if (hasRead && hasWritten) queueMicrotask(() => over());
  return clean;
}

/** The parts may stand in one list; a list among others is a source. */
export const listOf = (parts) => (parts.length === 1 && Array.isArray(parts[0]) ? parts[0] : parts);

export function pipeline(...parts) {
  const callback = typeof parts.at(-1) === "function" && parts.length > 2 ? parts.pop() : () => {};
  return connect(listOf(parts), {}, callback);
}

/** @param {unknown[]} parts streams, iterables and generator functions */
export function connect(parts, { signal, end = true }, callback) {
  if (parts.length < 2) throw fault("ERR_MISSING_ARGS", 'The "streams" argument must be specified', TypeError);
  const streams = [];
  let value;
  let pending = 0;
  let problem;
  let isOver = false;
  const done = (caught) => {
    if (caught && !problem) {
      problem = caught;
      // Whoever holds a part hears why it went no further; what had come to its end by then is left alone.
      for (const { stream, isOver: isDone } of streams) if (!isDone) stream.destroy?.(caught);
    } else if (caught && problem.code === "ERR_STREAM_PREMATURE_CLOSE") {
      problem = caught; // Why it was closed says more than that it was.
    }
    if (--pending === 0 && !isOver) {
      isOver = true;
      callback(problem ?? undefined, value);
    }
  };
  const watch = (stream, options) => {
    pending++;
    const part = { stream, isOver: false };
    streams.push(part);
    finished(stream, options, (caught) => {
      part.isOver = !caught;
      done(caught);
    });
  };

  /** One that stays open is over when everything was written to it. */
  const watchOpen = (source, target) => {
    pending++;
    const over = (caught) => {
      for (const event of ["end", "close"]) source.removeListener(event, onEnd);
      target.removeListener("error", over);
      done(caught);
    };
    const onEnd = () => over();
    for (const event of ["end", "close"]) source.on(event, onEnd);
    target.on("error", over);
  };

  let current;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (typeof part === "function" && !part._readableState) {
      const result = index === 0 ? part({ signal }) : part(current, { signal });
      if (isLast && typeof result?.then === "function") {
        pending++;
        result.then((own) => { value = own; done(); }, done);
        break;
      }
      const isIterable = typeof result?.[Symbol.asyncIterator] === "function" || typeof result?.[Symbol.iterator] === "function";
      if (!isIterable) throw invalidReturn(index === 0 ? "source" : isLast ? "destination" : `transform[${index - 1}]`, isLast ? "AsyncIterable or Promise" : index === 0 ? "Iterable, AsyncIterable or Stream" : "AsyncIterable", result);
      if (isLast) {
        // Nobody may read what it yields: it runs all the same, as far as that has room.
        current = new PassThrough({ objectMode: true });
        pending++;
        // Nobody else has it: what destroys it is told to the callback.
        streams.push({ stream: current.on("error", () => {}), isOver: false });
        pump(result, current, end).then(() => done(), done);
        break;
      }
      current = Readable.from(result);
      watch(current, { writable: false });
      continue;
    }
    if (index === 0) {
      current = isReadable(part) ? part : typeof part?.getReader === "function" ? Readable.fromWeb(part) : Readable.from(part);
      watch(current, { writable: false });
      continue;
    }
    const target = typeof part?.getWriter === "function" ? webTarget(part) : part;
    if (isLast && !end) watchOpen(current, target);
    else watch(target, { readable: !isLast && isReadable(target), writable: true });
    current.pipe(target, { end: end || !isLast });
    current = target;
  }
  signal?.addEventListener("abort", () => { pending++; done(abortFault(signal)); }, { once: true });
  return current;
}

async function pump(source, target, end) {
  for await (const chunk of source) {
    if (target.destroyed) return;
    if (!target.write(chunk)) await new Promise((resolve) => target.once("drain", resolve).once("close", resolve));
  }
  if (end) target.end();
}

function invalidReturn(name, wanted, result) {
  const given = result === null || result === undefined ? `${result}` : typeof result === "object" ? `an instance of ${result.constructor?.name ?? "Object"}` : `type ${typeof result}`;
  return fault("ERR_INVALID_RETURN_VALUE", `Expected ${wanted} to be returned from the "${name}" function but got ${given}.`, TypeError);
}

function webTarget(web) {
  const writer = web.getWriter();
  return new PassThrough().on("data", (chunk) => writer.write(chunk)).on("end", () => writer.close());
}

export function compose(...parts) {
  const first = new PassThrough({ objectMode: true });
  const last = new PassThrough({ objectMode: true });
  connect([first, ...parts, last], {}, (problem) => { if (problem) both.destroy(problem); });
  const both = Duplex.from({ readable: last, writable: first });
  return both;
}

export function addAbortSignal(signal, stream) {
  const onAbort = () => stream.destroy(abortFault(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return stream;
}
