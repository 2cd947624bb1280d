// A Readable as an asynchronous iterable, and the array-like methods that stand on it.

async function* chunks(stream, { destroyOnReturn = true } = {}) {
  let wake = () => {};
  let problem;
  let isOver = false;
  const onReadable = () => wake();
  const onEnd = () => { isOver = true; wake(); };
  const onError = (fault) => { problem = fault; wake(); };
  const onClose = () => {
    if (!stream.readableEnded && !problem && !isOver) problem = Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
    wake();
  };
  if (stream.errored) throw stream.errored;
  if (stream.readableEnded) return;
  if (stream.destroyed) throw Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
  stream.on("readable", onReadable).on("end", onEnd).on("error", onError).on("close", onClose);
  let isDone = false;
  try {
    for (;;) {
      const chunk = stream.destroyed ? null : stream.read();
      if (chunk !== null) yield chunk;
      else if (problem) throw problem;
      else if (isOver) {
        isDone = true;
        return;
      } else await new Promise((resolve) => { wake = resolve; });
    }
  } catch (fault) {
    isDone = true;
    stream.destroy(fault);
    throw fault;
  } finally {
    for (const [event, listener] of [["readable", onReadable], ["end", onEnd], ["close", onClose]]) stream.removeListener(event, listener);
    queueMicrotask(() => queueMicrotask(() => stream.removeListener("error", onError)));
    if (!isDone && destroyOnReturn) stream.destroy();
  }
}

const again = (stream, generate) => stream.constructor.from ? stream.constructor.from(generate()) : generate();

export const iteration = {
  [Symbol.asyncIterator]() { return chunks(this); },
  iterator(options) { return chunks(this, options); },
  async toArray() {
    const all = [];
    for await (const chunk of this) all.push(chunk);
    return all;
  },
  async forEach(visit) { for await (const chunk of this) await visit(chunk); },
  async reduce(combine, ...start) {
    let value = start[0];
    let isEmpty = start.length === 0;
    for await (const chunk of this) {
      value = isEmpty ? chunk : await combine(value, chunk);
      isEmpty = false;
    }
    if (isEmpty) throw new TypeError("Reduce of an empty stream requires an initial value");
    return value;
  },
  async some(test) {
    for await (const chunk of this) if (await test(chunk)) return true;
    return false;
  },
  async every(test) { return !(await this.some(async (chunk) => !(await test(chunk)))); },
  async find(test) {
    for await (const chunk of this) if (await test(chunk)) return chunk;
    return undefined;
  },
  map(change) { const own = this; return again(this, async function* () { for await (const chunk of own) yield change(chunk); }); },
  filter(test) { const own = this; return again(this, async function* () { for await (const chunk of own) if (await test(chunk)) yield chunk; }); },
  flatMap(change) { const own = this; return again(this, async function* () { for await (const chunk of own) yield* await change(chunk); }); },
  take(count) {
    const own = this;
    return again(this, async function* () {
      let left = count;
      if (left <= 0) return;
      for await (const chunk of own) {
        yield chunk;
        if (--left <= 0) return;
      }
    });
  },
  drop(count) {
    const own = this;
    return again(this, async function* () {
      let left = count;
      for await (const chunk of own) if (left-- <= 0) yield chunk;
    });
  },
};
