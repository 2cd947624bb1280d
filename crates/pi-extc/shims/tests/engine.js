// Runs the shims on QuickJS-NG itself, compiled to WebAssembly, where it is installed in the reference folder: nothing of
// Node can be leaned on there. `node tests/engine.js` prints a line; a test calls `check`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { globSync, root } from "./files.js";

const HOST = `
const place = Object.freeze({ cwd: "/work", agentDir: "/home/u/.pi/agent", extensionDir: "/e", entry: "/e/i.ts", dataDir: "/d", tempDir: "/tmp", homeDir: "/home/u", platform: "linux", arch: "x64", pid: 7, user: { uid: 1000, gid: 1000 }, execPath: "/bin/pi", argv: [], hostname: "h", versions: { node: "20.20.2", pi: "0.73.1" } });
const encode = (text) => Uint8Array.from(unescape(encodeURIComponent(text)), (char) => char.charCodeAt(0));
const decode = (bytes) => decodeURIComponent(escape(String.fromCharCode(...bytes)));
const files = new Map([["/work/a.txt", "hello"]]);
function callSync(method, params) {
  if (method === "env") return params.op === "get" ? { value: params.name === "HOME" ? "/home/u" : undefined } : { names: ["HOME"] };
  if (method === "fs" && params.op === "read" && files.has(params.path)) return { content: files.get(params.path) };
  if (method === "fs" && params.op === "stat") return files.has(params.path) ? { info: { kind: "file", size: files.get(params.path).length } } : {};
  throw Object.assign(new Error("no"), { name: "HostFault", code: "io", details: { errno: "ENOENT" } });
}
export default Object.freeze({ place, callSync, call: async (...args) => callSync(...args), open() { throw new Error("no"); }, load: (specifier) => globalThis.__loaded[specifier], now: () => 0, monotonic: () => 0, setTimer: () => 1, clearTimer() {}, refTimer() {}, immediate: (fn) => { Promise.resolve().then(fn); return 1; }, random: (n) => new Uint8Array(n), unique: (n) => new Uint8Array(n), utf8Encode: encode, utf8Decode: decode, base64Encode: () => "", base64Decode: () => new Uint8Array(0), textWidth: (text) => text.length, graphemes: (text) => Array.from(text), timeZone: () => "UTC", zoneName: (zone) => zone, zoneOffset: () => 0, isSummer: () => false, write: (name, text) => { (globalThis.__written ??= []).push(text); }, cancelToken: () => ({ cancel() {} }) });
`;
const STORY = `
import { install } from "pi:shim/globals";
install(globalThis);
const seen = [];
seen.push(Buffer.from("ab").toString("hex"), new URL("../x?y=1", "http://a.b/c/d").href, process.env.HOME, process.cwd(), (1234.5).toLocaleString(), structuredClone({ a: [1] }).a[0], typeof fetch, new TextEncoder().encode("a").length);
console.log("said %s", { a: 1 });
const fs = globalThis.__loaded["pi:shim/node/fs"].default;
seen.push(fs.readFileSync("a.txt", "utf8"), fs.existsSync("no"));
try { fs.readFileSync("no"); } catch (fault) { seen.push(fault.message); }
const { Type } = globalThis.__loaded["pi:shim/typebox/type"];
seen.push(JSON.stringify(Type.Object({ a: Type.Optional(Type.String()) })), globalThis.__loaded["pi:shim/typebox/value"].Check(Type.Number(), 1));
const { Text, Markdown, matchesKey } = globalThis.__loaded["pi:shim/pi/tui"];
seen.push(new Text("hi", 0, 0).render(4)[0], matchesKey("\\x03", "ctrl+c"));
seen.push(new Markdown("**b** x", 0, 0, globalThis.__loaded["pi:shim/pi/coding-agent"].getMarkdownTheme()).render(20).length);
const { facade, missing } = globalThis.__loaded["pi:shim/facade"];
const events = facade(globalThis.__loaded["pi:shim/node/events"], "events");
seen.push(new (class extends events { })().on("x", () => {}).emit("x"), typeof facade(globalThis.__loaded["pi:shim/node/net"], "net").Socket);
try { missing("lost").a(); } catch (fault) { seen.push(fault.message.slice(0, 17)); }
seen.push(globalThis.__written.join(""));
globalThis.__seen = JSON.stringify(seen);
`;

/** What the story saw on the engine, or `undefined` where it is not installed. */
export async function check(folder = process.env.PI_SHIMS_REFERENCE ?? "/tmp/shims-ref") {
  let engine;
  try {
    const { resolve } = createRequire(`${folder}/package.json`);
    const { newQuickJSWASMModuleFromVariant } = await import(resolve("quickjs-emscripten-core"));
    engine = await newQuickJSWASMModuleFromVariant((await import(resolve("@jitl/quickjs-ng-wasmfile-release-sync"))).default);
  } catch (fault) {
    if (fault.code !== "MODULE_NOT_FOUND") throw fault;
    return undefined;
  }
  const runtime = engine.newRuntime();
  const paths = globSync().filter((path) => path !== "globals");
  runtime.setModuleLoader((name) => (name === "pi:host" ? HOST : name.startsWith("pi:shim/") ? readFileSync(`${root}${name.slice(8)}.js`, "utf8") : { error: new Error(name) }), (from, name) => name);
  const context = runtime.newContext();
  const run = (code, name) => {
    const result = context.evalCode(code, name, { type: "module" });
    const jobs = runtime.executePendingJobs();
    const failed = result.error ?? jobs.error;
    if (failed) throw new Error(`${name}: ${JSON.stringify(context.dump(failed))}`);
  };
  run(paths.map((path, at) => `import * as m${at} from "pi:shim/${path}";`).join("\n") + `globalThis.__loaded = { ${paths.map((path, at) => `"pi:shim/${path}": m${at}`).join(", ")} };`, "load.js");
  run(STORY, "story.js");
  return { count: paths.length, seen: JSON.parse(context.dump(context.getProp(context.global, "__seen"))) };
}

if (process.argv[1]?.endsWith("engine.js")) console.log(await check());
