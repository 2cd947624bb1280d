import { shim } from "./setup.js";
import assert from "node:assert/strict";
import theirs from "node:events";
import test from "node:test";
import { same } from "./differ.js";

const { default: ours } = await shim("node/events");

same("listeners in their order", ours, theirs, [[["on", "once", "prependListener"]], [["once", "once"]], [["prependOnceListener", "on"]]], (Emitter, ways) => {
  const [emitter, heard] = [new Emitter(), []];
  emitter.on("newListener", (event) => heard.push(`new ${event}`));
  emitter.on("removeListener", (event) => heard.push(`gone ${event}`));
  ways.forEach((way, at) => emitter[way]("x", (...args) => heard.push(at, ...args)));
  return [emitter.emit("x", 1, 2), emitter.emit("x"), emitter.emit("y"), emitter.listenerCount("x"), emitter.eventNames(), heard];
});
same("removal", ours, theirs, [["off"], ["removeListener"], ["removeAllListeners"]], (Emitter, way) => {
  const [emitter, heard] = [new Emitter(), []];
  const [a, b] = [() => heard.push("a"), () => heard.push("b")];
  emitter.on("x", a).on("x", b).on("x", a).once("y", b);
  emitter[way]("x", a);
  emitter.emit("x");
  return [heard, emitter.rawListeners("x").length, emitter.listeners("y")[0] === b, emitter.eventNames()];
});
same("errors nobody hears", ours, theirs, [[new Error("boom")], ["text"], [{ a: 1 }], [undefined]], (Emitter, value) => new Emitter().emit("error", value));
same("what is no listener", ours, theirs, [[null], ["x"], [{}], [5]], (Emitter, value) => new Emitter().on("x", value));
same("limits", ours, theirs, [[5], [-1], ["x"]], (Emitter, count) => new Emitter().setMaxListeners(count).getMaxListeners());

test("classes and old constructors inherit", () => {
  class Modern extends ours {}
  function Old() { ours.call(this); }
  Object.setPrototypeOf(Old.prototype, ours.prototype);
  for (const emitter of [new Modern(), new Old()]) {
    let heard = 0;
    emitter.on("x", () => heard++);
    emitter.emit("x");
    assert.equal(heard, 1);
    assert.ok(emitter instanceof ours);
  }
});
test("once and on are promises and iterators", async () => {
  const emitter = new ours();
  const next = ours.once(emitter, "x");
  emitter.emit("x", 1, 2);
  assert.deepEqual(await next, [1, 2]);
  const failing = ours.once(emitter, "y");
  emitter.emit("error", new Error("bad"));
  await assert.rejects(failing, /bad/);
  const seen = [];
  setImmediate(() => { emitter.emit("z", 1); emitter.emit("z", 2); });
  for await (const [value] of ours.on(emitter, "z")) if (seen.push(value) === 2) break;
  assert.deepEqual(seen, [1, 2]);
});
same("a class may make one name of a pair out of the other", ours, theirs, [["off", "removeListener"], ["removeListener", "off"], ["on", "addListener"], ["addListener", "on"]], (Emitter, own, other) => {
  class Mine extends Emitter {
    [own](event, listener) { return super[own](event, listener); }
    [other](event, listener) { return this[own](event, listener); }
  }
  const [emitter, listener] = [new Mine(), () => {}];
  emitter.on("x", listener).addListener("x", listener);
  emitter[other]("x", listener);
  return [emitter.listenerCount("x"), Emitter.prototype.off === Emitter.prototype.removeListener, Emitter.prototype.on === Emitter.prototype.addListener];
});
