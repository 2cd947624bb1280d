import { shim } from "./setup.js";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import test from "node:test";
import { globSync, root } from "./files.js";
import { text } from "./write-modules.js";

const { default: names } = await shim("names");
const { facade, isCallable, laterFacade, missing } = await shim("facade");
const { install } = await shim("globals");

test("modules.json is what names.js says (node tests/write-modules.js writes it)", () => assert.equal(readFileSync(`${root}modules.json`, "utf8"), text));
test("every name has its file", () => assert.deepEqual(Object.entries(names).filter(([, path]) => !existsSync(`${root}${path}.js`)), []));
test("every module of Node can be imported", () => {
  const lost = builtinModules.filter((name) => !name.startsWith("_") && !names[name] && !["domain", "trace_events", "wasi", "inspector/promises"].includes(name));
  assert.deepEqual(lost, []);
});
test("both scopes give the same, but for what the newer agent has otherwise", () => {
  for (const [name, path] of Object.entries(names)) if (name.startsWith("@mariozechner/")) assert.equal(names[name.replace("@mariozechner", "@earendil-works")].replace("/newer", ""), path);
});
test("shims begin with a sentence about themselves, wait for nothing at the top, and name only shims and the host", () => {
  for (const path of globSync()) {
    const source = readFileSync(`${root}${path}.js`, "utf8");
    assert.match(source, /^\/\/ \S/, path);
    assert.doesNotMatch(source, /^(?:const .*= )?await /m, path);
    for (const [, from] of source.matchAll(/^(?:import|export) .*from "([^"]+)";$/gm)) assert.ok(from === "pi:host" || existsSync(`${root}${from.replace("pi:shim/", "")}.js`), `${path} imports ${from}`);
  }
});
test("a missing export is no error until it is used", () => {
  const net = facade({ default: { isIP: () => 4, [Symbol.for("pi.remedy")]: "use fetch" } }, "node:net");
  const { Socket } = net;
  assert.equal(net.isIP(), 4);
  assert.throws(() => new Socket(), /"Socket" of "node:net" is not available.*use fetch/);
  assert.ok(Socket.prototype && Socket.connect);
  assert.throws(() => Socket.connect(), /"Socket.connect" of "node:net" is not available/);
  Socket.own = 7;
  assert.equal(Socket.own, 7);
  class Mine extends Socket {}
  assert.throws(() => new Mine(), /Socket/);
  const { thing } = missing("lost-package");
  assert.throws(() => thing(), /"thing" of "lost-package"/);
  assert.throws(() => missing("lost-package", "require"), { code: "MODULE_NOT_FOUND" });
  assert.throws(() => missing("lost-package", "import"), { code: "ERR_MODULE_NOT_FOUND" });
  assert.equal(net.then, undefined);
  assert.equal(net.default, net);
});
test("what came after this version of Node is not there, and what is missing says how to ask for it", async () => {
  for (const [name, newer] of [["fs", "globSync"], ["node:fs", "glob"], ["fs/promises", "glob"], ["node:util", "diff"], ["node:util", "getCallSite"], ["module", "registerHooks"], ["zlib", "zstdCompressSync"]]) {
    const [ours, theirs] = [facade(await shim(names[name]), name), await import(name)];
    assert.deepEqual([typeof ours[newer], newer in ours], [typeof theirs[newer], newer in theirs], `${newer} of ${name}`);
  }
  const own = facade({ default: { isHere: true } }, "own");
  assert.deepEqual(["isHere" in own, "isNot" in own], [true, false]);
  assert.throws(() => own.isNot(), /"isNot" in module/);
});
test("what a package looks for to see its own mark is not there", async () => {
  const fs = facade(await shim("node/fs"), "fs");
  assert.deepEqual([typeof fs._original_unwrapped_fs, "_original_unwrapped_fs" in fs], ["undefined", false]);
  assert.throws(() => facade({ default: {} }, "node:module")._load("x"), /"_load" of "node:module" is not available/);
});
test("a function as a whole stays one behind the facade", async () => {
  const events = facade(await shim("node/events"), "events");
  assert.ok(new events() instanceof events.EventEmitter);
  assert.ok(new (class extends events {})().on("x", () => {}));
  assert.equal(events.default, (await shim("node/events")).default);
  // As CoffeeScript inherits.
  const child = function () {};
  for (const key in events) if (Object.hasOwn(events, key)) child[key] = events[key];
  assert.deepEqual([child.once, child.name], [events.once, "child"]);
});
test("those that are functions as a whole are known before they are loaded", async () => {
  for (const path of new Set(Object.values(names))) assert.equal(isCallable(path), typeof (await shim(path)).default === "function", path);
});
test("a shim is loaded when something of it is first looked at, and once", () => {
  let loads = 0;
  const later = (look) => {
    loads = 0;
    const seen = look(laterFacade(() => (loads++, { default: { here: 1 }, named: 2 }), "own"));
    return [seen, loads];
  };
  assert.deepEqual(later((own) => own.default === own && typeof own), ["object", 0]);
  assert.deepEqual(later((own) => own.here + own.named), [3, 1]);
  assert.deepEqual(later((own) => "here" in own), [true, 1]);
  assert.deepEqual(later((own) => Object.keys(own)), [["default", "named", "here"], 1]);
  assert.throws(() => later((own) => own.lost()), /"lost" of "own" is not available/);
});
test("a copy of a module holds what the module has, and can be written to", () => {
  const whole = { plain: 1, get heavy() { return 2; } };
  const own = laterFacade(() => ({ default: whole }), "own");
  const copy = {};
  for (const key of Object.getOwnPropertyNames(own)) Object.defineProperty(copy, key, Object.getOwnPropertyDescriptor(own, key));
  assert.deepEqual([Object.keys(copy), copy.plain, copy.heavy], [["default", "plain", "heavy"], 1, 2]);
  // What an accessor of a proxy is, the engine does not say.
  assert.deepEqual(Object.getOwnPropertyDescriptor(own, "heavy"), { value: 2, enumerable: true, configurable: true, writable: true });
  copy.heavy = "mine";
  assert.deepEqual([copy.heavy, own.heavy], ["mine", 2]);
});
test("what somebody laid on a module for good stands among its names", () => {
  const whole = facade({ default: { read: 1 }, read: 1 }, "own");
  const mark = Symbol("mark");
  Object.defineProperty(whole, mark, { get: () => [] });
  Object.defineProperty(whole, "own", { value: 1 });
  assert.deepEqual([Reflect.ownKeys(whole), Object.keys(Object.getOwnPropertyDescriptors(whole)), { ...whole }], [["default", "read", "own", mark], ["default", "read", "own"], { default: whole, read: 1 }]);
});
test("globals are loaded when they are read", async () => {
  const target = {};
  // Installing also teaches the engine's own classes English; the other tests compare with Node's.
  const own = [Number, BigInt, Date, String].map(({ prototype }) => [prototype, Object.getOwnPropertyDescriptors(prototype)]);
  install(target);
  assert.equal((1234.5).toLocaleString(), "1,234.5");
  for (const [prototype, members] of own) for (const name of Object.keys(members).filter((key) => key.startsWith("toLocale") || key === "localeCompare")) Object.defineProperty(prototype, name, members[name]);
  assert.equal(typeof Object.getOwnPropertyDescriptor(target, "URL").get, "function");
  assert.equal(target.URL, (await shim("web/url")).URL);
  assert.equal(target.process.cwd(), process.cwd());
  target.fetch = 5;
  assert.equal(target.fetch, 5);
});
