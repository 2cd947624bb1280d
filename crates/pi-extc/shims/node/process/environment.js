// `process.env`: variables are asked for when they are read, one by one, because each reading is decided and recorded.
// What the extension sets or deletes stays with it; the host's environment never changes.
import host from "pi:host";

const own = new Map();
const known = new Map();
/** What this extension may see, and its processes do not get unless they are given it. */
const withheld = new Set();

/** Marks what was copied of `process.env`: besides what an extension sees of it, there is what it may not see. */
const COPIED = Symbol("copied of process.env");

/** What engines and libraries look for on any object, to see what it is. Nobody means a variable by it. */
const PROBES = new Set(["then", "toJSON", "inspect", "length", "nodeType", "asymmetricMatch", "$$typeof"]);

/**
 * What was refused reads as unset, as a program would see a variable that is not there. It is asked for again the next time:
 * somebody may have granted it.
 */
function ask(name) {
  if (known.has(name)) return known.get(name);
  if (PROBES.has(name)) return undefined;
  try {
    const { value, is_withheld: isWithheld } = host.callSync("env", { op: "get", name });
    known.set(name, value);
    if (isWithheld) withheld.add(name);
    return value;
  } catch (fault) {
    if (fault?.name !== "HostFault") throw fault;
    return undefined;
  }
}

function names() {
  let listed = [];
  try {
    ({ names: listed } = host.callSync("env", { op: "list" }));
  } catch (fault) {
    if (fault?.name !== "HostFault") throw fault;
  }
  const all = new Set(listed);
  for (const [name, value] of own) if (value === undefined) all.delete(name); else all.add(name);
  return [...all];
}

const read = (name) => (own.has(name) ? own.get(name) : ask(name));

export const environment = new Proxy({}, {
  get(target, name) {
    // Whoever spreads it reads the mark as well.
    if (name === COPIED) return true;
    return typeof name === "string" && !(name in Object.prototype) ? read(name) : target[name];
  },
  set(target, name, value) {
    if (typeof name === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
    own.set(name, String(value));
    return true;
  },
  deleteProperty(target, name) {
    own.set(name, undefined);
    return true;
  },
  has: (target, name) => typeof name === "string" && read(name) !== undefined,
  ownKeys: () => [...names(), COPIED],
  getOwnPropertyDescriptor(target, name) {
    if (name === COPIED) return { value: true, writable: true, enumerable: true, configurable: true };
    const value = typeof name === "string" ? read(name) : undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
  defineProperty(target, name, { value }) {
    own.set(name, String(value));
    return true;
  },
});

/**
 * What a process gets, as `exec` is told it. Its `env` is all that it has; one that was copied of `process.env` stands for the
 * environment of the host, without the variables that the extension sees there and left out. What is as it is there is not given
 * again: the process has it, and a command that brings variables of its own is another one to whoever allows commands.
 */
export function givenTo(env) {
  if (env === undefined || env === null || env === environment) {
    const [set, unset] = [[], []];
    for (const [name, value] of own) if (value === undefined) unset.push(name); else set.push([name, value]);
    return { env: Object.fromEntries(set), ...(unset.length > 0 && { unset }) };
  }
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => [name, String(value)]);
  const given = Object.fromEntries(set);
  if (!env[COPIED]) return { env: given, bare: true };
  const unset = [...new Set([...names(), ...own.keys()])].filter((name) => !Object.hasOwn(given, name));
  const isTheirs = ([name, value]) => !withheld.has(name) && known.get(name) === value;
  return { env: Object.fromEntries(set.filter((entry) => !isTheirs(entry))), ...(unset.length > 0 && { unset }) };
}
