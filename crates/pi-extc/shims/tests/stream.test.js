import { shim } from "./setup.js";
import assert from "node:assert/strict";
import * as theirs from "node:stream";
import * as theirPromises from "node:stream/promises";
import test from "node:test";

const ours = await shim("node/stream");
const ourPromises = await shim("node/stream/promises");

/** Runs the same story on both and compares what was seen. */
function story(name, tell) {
  test(name, async () => assert.deepEqual(await tell(ours, ourPromises), await tell(theirs, theirPromises)));
}
// How bytes are cut into chunks depends on the moment; only what they say is compared.
const text = (chunks) => chunks.map(String).join("");
const collect = (stream, events = ["data", "end", "close", "error", "finish"]) => new Promise((resolve) => {
  const seen = [];
  for (const event of events) stream.on(event, (value) => seen.push(value === undefined ? event : `${event} ${value?.message ?? value}`));
  stream.on("close", () => setImmediate(() => resolve(seen)));
});

story("a readable flows, ends and closes", async ({ Readable }) => {
  const parts = ["a", "b", "c"];
  return collect(new Readable({ read() { this.push(parts.shift() ?? null); } }));
});
story("a source that answers later keeps flowing", async ({ Readable }) => {
  const parts = ["a", "b", "c"];
  return collect(new Readable({ read() { setImmediate(() => this.push(parts.shift() ?? null)); } }));
});
story("a readable can be iterated", async ({ Readable }) => {
  const seen = [];
  for await (const chunk of Readable.from(["x", "y", 3])) seen.push(chunk);
  for await (const chunk of Readable.from(Buffer.from("abc"))) seen.push(String(chunk));
  return seen;
});
story("leaving an iteration destroys", async ({ Readable }) => {
  const stream = Readable.from([1, 2, 3]);
  for await (const chunk of stream) if (chunk === 2) break;
  return stream.destroyed;
});
story("encodings never cut a character", async ({ Readable }) => {
  const bytes = Buffer.from("aé€😀z");
  const stream = new Readable({ read() {} }).setEncoding("utf8");
  for (const byte of bytes) stream.push(Buffer.from([byte]));
  stream.push(null);
  let all = "";
  for await (const chunk of stream) all += chunk;
  return all;
});
story("read(n) cuts and waits", async ({ Readable }) => {
  const stream = new Readable({ read() {} });
  stream.push("abcdef");
  const seen = [String(stream.read(2)), String(stream.read(3)), stream.read(5)];
  stream.push("ghij");
  seen.push(String(stream.read(5)));
  return seen;
});
story("unshift comes first", async ({ Readable }) => {
  const stream = new Readable({ read() {} });
  stream.push("b");
  stream.unshift("a");
  stream.push(null);
  return text(await stream.toArray());
});
story("errors end a stream", async ({ Readable }) => collect(new Readable({ read() { this.destroy(new Error("bad")); } })));
story("a writable writes in order and finishes", async ({ Writable }) => {
  const got = [];
  const stream = new Writable({ write(chunk, encoding, done) { got.push(`${chunk} ${encoding}`); setImmediate(done); }, final(done) { got.push("final"); done(); } });
  const seen = collect(stream, ["finish", "close"]);
  stream.write("a");
  stream.write(Buffer.from("b"));
  stream.end("c", () => got.push("ended"));
  return [await seen, got];
});
story("a full writable says so and drains", async ({ Writable }) => {
  const stream = new Writable({ highWaterMark: 3, write(chunk, encoding, done) { setImmediate(done); } });
  const first = [stream.write("ab"), stream.write("cd"), stream.writableNeedDrain];
  await new Promise((resolve) => stream.once("drain", resolve));
  return [first, stream.writableLength];
});
story("writing after the end is an error", async ({ Writable }) => {
  const stream = new Writable({ write(chunk, encoding, done) { done(); } });
  const seen = collect(stream, ["error", "close"]);
  stream.end();
  stream.write("x");
  return seen;
});
story("a transform changes and flushes", async ({ Transform, Readable }) => {
  const upper = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); }, flush(done) { this.push("!"); done(); } });
  return text(await Readable.from(["a", "b"]).pipe(upper).toArray());
});
story("pipeline connects, waits and cleans up", async ({ PassThrough, Readable, Writable }, { pipeline }) => {
  const got = [];
  await pipeline(Readable.from(["a", "b"]), new PassThrough(), async function* (source) { for await (const chunk of source) yield String(chunk).toUpperCase(); }, new Writable({ write(chunk, encoding, done) { got.push(String(chunk)); done(); } }));
  const broken = new PassThrough();
  const failed = await pipeline(Readable.from((async function* () { yield "x"; throw new Error("source"); })()), broken).catch((fault) => fault.message);
  return [text(got), failed, broken.destroyed];
});
for (const broken of ["source", "middle", "sink", "closed source", "closed middle", "closed sink"]) {
  story(`every part of a pipeline hears of what broke: ${broken}`, async ({ Readable, Transform, Writable, pipeline }) => {
    const seen = [];
    const parts = {
      source: new Readable({ read() { if (broken === "source") this.destroy(new Error(broken)); else this.push("x"); } }),
      middle: new Transform({ transform: (chunk, encoding, done) => (broken === "middle" ? done(new Error(broken)) : done(null, chunk)) }),
      sink: new Writable({ write: (chunk, encoding, done) => done(broken === "sink" ? new Error(broken) : null) }),
    };
    const closed = Object.entries(parts).map(([name, part]) => new Promise((resolve) => part.on("error", (problem) => seen.push(`${name} ${problem.message}`)).on("close", resolve)));
    await new Promise((resolve) => {
      pipeline(...Object.values(parts), (problem) => resolve(seen.push(`told ${problem.message}`)));
      parts[broken.replace("closed ", "")]?.destroy(broken.startsWith("closed") ? undefined : new Error(broken));
    });
    await Promise.all(closed);
    return [seen.sort(), Object.values(parts).map((part) => part.errored?.message)];
  });
}
story("pipe keeps the pace of the slower", async ({ PassThrough, Readable, Writable }, { finished }) => {
  let pending = 0;
  let most = 0;
  const slow = new Writable({ objectMode: true, highWaterMark: 1, write(chunk, encoding, done) { most = Math.max(most, ++pending); setImmediate(() => { pending--; done(); }); } });
  Readable.from(Array.from({ length: 20 }, (_, at) => at)).pipe(new PassThrough({ objectMode: true, highWaterMark: 2 })).pipe(slow);
  await finished(slow);
  return most;
});
story("a duplex has two halves", async ({ Duplex }) => {
  const got = [];
  const stream = new Duplex({ read() { this.push("out"); this.push(null); }, write(chunk, encoding, done) { got.push(String(chunk)); done(); } });
  stream.end("in");
  return [text(await stream.toArray()), got, stream instanceof Duplex];
});
for (const way of ["iterated", "told", "asked"]) {
  story(`a stream that keeps nothing in store, as got's: ${way}`, async ({ Duplex, Readable }) => {
    const seen = [];
    let count = 0;
    const source = new Readable({ read() { setTimeout(() => this.push(++count === 1 ? "chunk" : null), 2); } });
    let isWanted = false;
    const stream = new Duplex({ autoDestroy: false, highWaterMark: 0, write: (chunk, encoding, done) => done(), read() {
      isWanted = source.readableLength === 0;
      for (let part = source.read(); part !== null; part = source.read()) this.push(part);
    } });
    source.on("readable", () => { if (isWanted) stream._read(); }).on("end", () => stream.push(null));
    if (way === "iterated") for await (const part of stream) seen.push(String(part));
    else {
      const ended = new Promise((resolve) => stream.on("end", resolve));
      if (way === "told") stream.on("data", (part) => seen.push(String(part)));
      else stream.on("readable", () => { for (let part = stream.read(); part !== null; part = stream.read()) seen.push(String(part)); });
      await ended;
    }
    return seen;
  });
}
story("streams go to those of the web and back", async ({ Duplex, PassThrough, Readable, Writable }) => {
  const got = [];
  const seen = [];
  for await (const part of Readable.toWeb(Readable.from(["a", Buffer.from("b")], { objectMode: false }))) seen.push([part.constructor.name, String.fromCharCode(...part)]);
  const writer = Writable.toWeb(new Writable({ write(chunk, encoding, done) { got.push(String(chunk)); done(); } })).getWriter();
  await writer.write("x");
  await writer.close();
  seen.push(await Readable.toWeb(new Readable({ read() { this.destroy(new Error("gone")); } })).getReader().read().catch((problem) => problem.message));
  seen.push(await Writable.toWeb(new Writable({ write(chunk, encoding, done) { done(new Error("full")); } })).getWriter().write("x").catch((problem) => problem.message));
  const stopped = new PassThrough();
  await Readable.toWeb(stopped).cancel();
  const { readable, writable } = Duplex.toWeb(new PassThrough());
  const through = writable.getWriter();
  through.write(Buffer.from("through"));
  seen.push(stopped.destroyed, String.fromCharCode(...(await readable.getReader().read()).value));
  return [seen, got];
});
story("finished tells of a premature close", async ({ Readable }, { finished }) => {
  const stream = new Readable({ read() {} });
  setImmediate(() => stream.destroy());
  return finished(stream).catch((fault) => fault.code);
});
test("old constructors and instanceof", () => {
  function Old() { ours.Readable.call(this, {}); }
  Object.setPrototypeOf(Old.prototype, ours.Readable.prototype);
  assert.ok(new Old() instanceof ours.Readable);
  assert.ok(new ours.PassThrough() instanceof ours.Writable);
  assert.ok(!(new ours.Readable() instanceof ours.Writable));
});
story("functions at every place of a pipeline", async ({ pipeline, PassThrough, Readable }, promises) => {
  const seen = [];
  const upper = async function* (source) { for await (const chunk of source) yield String(chunk).toUpperCase(); };
  const told = (...parts) => new Promise((resolve) => pipeline(...parts, (problem, value) => resolve([problem?.message, value])));
  const tried = async (...parts) => { try { return await promises.pipeline(...parts); } catch (problem) { return [problem.name, problem.code, problem.code ? undefined : problem.message]; } };
  seen.push(await told(Readable.from(["a"]), async function* (source) { for await (const chunk of source) seen.push(chunk); }));
  seen.push(await told(["a", "b"], upper, async function* (source) { for await (const chunk of source) { seen.push(chunk); yield chunk; } }));
  const last = pipeline(["x", "y"], upper, upper, () => seen.push("over"));
  for await (const chunk of last) seen.push(chunk);
  await new Promise(setImmediate);
  seen.push(await tried(["a", "b"], upper, async (source) => { const all = []; for await (const chunk of source) all.push(chunk); return all; }));
  seen.push(await tried(Readable.from(["c"]), new PassThrough(), upper, async function* (source) { for await (const chunk of source) seen.push(chunk); }));
  seen.push(await tried(["a"], async function* (source) { for await (const chunk of source) throw new Error(`at ${chunk}`); }));
  seen.push(await tried(function* () { yield "q"; throw new Error("at the source"); }, async function* (source) { for await (const chunk of source) yield chunk; }));
  seen.push(await tried(["a"], () => 5), await tried(() => 5, new PassThrough()), await tried(["a"], () => 5, new PassThrough()));
  const sink = new PassThrough();
  seen.push(await tried(async function* () { yield "kept"; }, upper, sink, { end: false }).then(() => 0, () => 1) ?? 0, String(sink.read()), sink.writableEnded);
  seen.push(await tried(function* () { yield "lost"; throw new Error("with an open end"); }, upper, new PassThrough(), { end: false }));
  return seen;
});
