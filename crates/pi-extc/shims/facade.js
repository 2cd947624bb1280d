// What a bundle sees of a shim: its exports, and for every other name a stub that throws when it is used.
//
// A shim's default export stands for `module.exports`: a function (events, assert, stream) stays callable. There is no
// `__esModule`, so that a default import gives the whole in both ways of reading CommonJS.

// A name that is not there looks like a function, so that loading it is no error: only `in` tells.
const remedyFor = (key) => `remove the use, guard it with \`"${String(key).split(".")[0]}" in module\` (typeof does not tell), or ask for it at the project of pi`;
// Names that came after the version of Node that this host is like: there is nothing of them, as there.
const NEWER = {
  fs: ["glob", "globSync"], "fs/promises": ["glob"], util: ["diff", "getCallSite", "getCallSites", "setTraceSigInt"],
  module: ["enableCompileCache", "findPackageJSON", "getCompileCacheDir", "registerHooks", "stripTypeScriptTypes"],
  zlib: ["createZstdCompress", "createZstdDecompress", "zstdCompress", "zstdCompressSync", "zstdDecompress", "zstdDecompressSync"],
};
// What engines, bundlers and promises ask of any object; a stub there would change what they do.
const SILENT = new Set(["__esModule", "then", "toJSON", "$$typeof", "asymmetricMatch", "nodeType", "constructor", "prototype", "name", "length"]);

// Packages mark a module that they have changed, and look whether they have: nobody but they know such names. Those of `module` are in use.
const isPrivate = (key, module) => key.startsWith("_") && !/^(?:node:)?module$/.test(String(module));

// Shims that are functions as a whole: what stands for one of them has to be one.
const CALLABLE = new Set(["node/assert", "node/assert/strict", "node/events", "node/module", "node/stream", "typebox/compile"]);
export const isCallable = (path) => CALLABLE.has(path);

/** The exports of a shim for the name that the extension imported. */
export function facade(namespace, module) {
  return front(() => namespace, module, typeof namespace.default === "function" ? namespace.default : undefined);
}

/** The same for a shim that is not callable and is loaded when something of it is first looked at: much that is imported is never used. */
export function laterFacade(load, module) {
  let namespace;
  return front(() => (namespace ??= load()), module, undefined);
}

function front(open, module, callable) {
  let self;
  const isFunction = callable !== undefined;
  const own = isFunction ? callable : Object.create(null);
  const stubs = new Map();
  const whole = () => open().default;
  const newer = NEWER[String(module).replace(/^node:/, "")] ?? [];
  const has = (key) => Object.hasOwn(open(), key) || (whole() !== undefined && whole() !== null && key in Object(whole()));
  const read = (key) => (Object.hasOwn(open(), key) ? open()[key] : whole()?.[key]);
  // Members that load something when they are read.
  const loads = (key) => !Object.hasOwn(open(), key) && Object.getOwnPropertyDescriptor(Object(whole()), key)?.get !== undefined;
  self = new Proxy(own, {
    get(target, key) {
      if (key === "default") return isFunction ? callable : self;
      if (typeof key === "symbol") return has(key) ? read(key) : target[key];
      if (has(key)) return read(key);
      if (SILENT.has(key) || newer.includes(key) || isPrivate(key, module)) return target[key];
      if (!stubs.has(key)) stubs.set(key, stub(module, key, whole()?.[Symbol.for("pi.remedy")]));
      return stubs.get(key);
    },
    has: (target, key) => has(key) || key in target,
    // What others laid on it is told as well: a proxy that leaves out a member which cannot be removed is refused by the engine.
    ownKeys: (target) => [...new Set([...Object.keys(open()), ...(isFunction ? [] : Object.keys(whole() ?? {})), ...Reflect.ownKeys(target)])],
    getOwnPropertyDescriptor(target, key) {
      const own = Reflect.getOwnPropertyDescriptor(target, key);
      if (own && !own.configurable) return own;
      if (!has(key)) return own;
      // What a function has of itself nobody lists: who copies a class by its names would write to what cannot be written.
      // Also of what loads something: the engine forgets the functions of a descriptor that a proxy gives, and a copy of the
      // module would hold nothing there, for good.
      return { value: read(key), enumerable: own?.enumerable ?? true, configurable: true, writable: true };
    },
    set: (target, key, value, receiver) => (loads(key) ? keep(target, key, value) : Reflect.set(target, key, value, receiver)),
  });
  return self;
}

const keep = (target, key, value) => Reflect.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });

/**
 * A package that was not found: loading it is no error, using it is. Where the extension stands by for the error, `how` is
 * what it asked with ("require" or "import"), and it gets the error that Node gives.
 */
export function missing(module, how) {
  if (how === "require") throw Object.assign(new Error(`Cannot find module '${module}'`), { code: "MODULE_NOT_FOUND", requireStack: [] });
  if (how === "import") throw Object.assign(new Error(`Cannot find package '${module}'`), { code: "ERR_MODULE_NOT_FOUND" });
  return stub(module, undefined);
}

function stub(module, key, remedy = remedyFor(key)) {
  const what = key === undefined ? `the package "${module}"` : `"${key}" of "${module}"`;
  const hint = key === undefined ? "install it next to the extension and build the extension again" : remedy;
  const fault = (use) => Object.assign(new Error(`${what} is not available in this host, and the extension ${use} it; ${hint}`), { code: key === undefined ? "ERR_MODULE_NOT_FOUND" : "ERR_NOT_AVAILABLE", module, export: key });
  const target = function () {};
  return new Proxy(target, {
    apply() { throw fault("called"); },
    construct() { throw fault("constructed"); },
    get(own, name) {
      if (typeof name === "symbol") return name === Symbol.toPrimitive ? () => { throw fault("read"); } : own[name];
      // A class may extend a stub; it fails when the first object is made.
      if (name === "prototype") return own.prototype;
      if (SILENT.has(name)) return undefined;
      if (key === undefined && name === "default") return this.nested ??= stub(module, undefined);
      return Object.hasOwn(own, name) ? own[name] : stubMember(module, key, name);
    },
  });
}

// Packages read what they import while they load, also inside an export (the names of an enumeration): only a call is a use.
function stubMember(module, key, name) {
  return stub(module, key === undefined ? name : `${key}.${name}`);
}
