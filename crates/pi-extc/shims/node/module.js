// node:module. `createRequire` gives what the host has: built-in modules, the Pi packages, and JSON files. A package of the
// extension is in its bundle already; code that is named only when it runs cannot be loaded.
import host from "pi:host";
import names from "pi:shim/names";
import { facade } from "pi:shim/facade";

const NODE = new Set(Object.keys(names).filter((name) => name.startsWith("node:")).map((name) => name.slice(5)));
export const builtinModules = [...NODE].sort();
export const isBuiltin = (name) => NODE.has(String(name).replace(/^node:/, ""));

const facades = new Map();

/** A module of the host by the name that it is imported with, or `undefined`. */
export function builtin(name) {
  const path = names[name];
  if (path === undefined) return undefined;
  if (!facades.has(path)) facades.set(path, facade(host.load(`pi:shim/${path}`), name));
  return facades.get(path);
}

export function createRequire(from) {
  const { dirname, resolve: join } = host.load("pi:shim/node/path");
  const text = typeof from === "object" || String(from).startsWith("file:") ? host.load("pi:shim/node/url").fileURLToPath(from) : String(from);
  const folder = text.endsWith("/") ? text : dirname(text);
  const fs = host.load("pi:shim/node/fs").default;

  const resolve = (name) => {
    if (names[name] !== undefined) return name;
    if (!/^\.{0,2}\//.test(name)) return inModules(name);
    const path = join(folder, name);
    const found = ["", ".js", ".json", ".cjs", ".mjs", "/package.json", "/index.js"].map((end) => path + end).find((file) => fs.existsSync(file) && fs.statSync(file).isFile());
    if (!found) throw lost(name, text);
    return found;
  };

  // For those who look for where a package is installed.
  const inModules = (name) => {
    const [, base, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
    for (let at = folder; base; at = dirname(at)) {
      const root = `${at === "/" ? "" : at}/node_modules/${base}`;
      if (fs.existsSync(`${root}/package.json`)) {
        if (rest) return root + rest;
        const { main = "index.js" } = JSON.parse(fs.readFileSync(`${root}/package.json`, "utf8"));
        return join(root, main);
      }
      if (dirname(at) === at) break;
    }
    throw lost(name, text);
  };

  const require = (name) => {
    const found = builtin(name);
    if (found) return found;
    const path = resolve(name);
    if (path.endsWith(".json")) return JSON.parse(fs.readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    throw Object.assign(new Error(`require("${name}") names code that is not in the bundle of the extension; import it with a fixed name, and build the extension again`), { code: "ERR_NOT_AVAILABLE" });
  };
  return Object.assign(require, { resolve: Object.assign(resolve, { paths: () => [] }), cache: Object.create(null), extensions: Object.create(null), main: undefined });
}

function lost(name, from) {
  return Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:\n- ${from}`), { code: "MODULE_NOT_FOUND", requireStack: [from] });
}

export const findSourceMap = () => undefined;
export const syncBuiltinESMExports = () => {};
export const enableCompileCache = () => ({ status: 3 });
export const register = () => { throw Object.assign(new Error("module.register is not available: an extension cannot change how modules are loaded"), { code: "ERR_NOT_AVAILABLE" }); };

export class Module {
  constructor(id = "") { Object.assign(this, { id, exports: {}, loaded: false, children: [], paths: [] }); }
}
Object.assign(Module, { Module, builtinModules, isBuiltin, createRequire, findSourceMap, syncBuiltinESMExports, enableCompileCache, register, builtin, _extensions: {}, _cache: {}, _load: (name) => builtin(name) });
export default Module;
