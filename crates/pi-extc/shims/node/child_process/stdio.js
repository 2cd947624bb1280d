// Where the input of a process comes from and its output goes to, as `stdio` says.
import host from "pi:host";
import { duplicate } from "pi:shim/node/fs/descriptors";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);

const kindOf = (given, at) => {
  const kind = given ?? (at < 3 ? "pipe" : "ignore");
  if (kind === "pipe" || kind === "inherit" || kind === "ignore") return kind;
  if (kind === "overlapped") return "pipe";
  const fd = typeof kind === "number" ? kind : kind.fd;
  if (Number.isInteger(fd) && fd >= 0) return fd <= 2 ? "inherit" : fd;
  throw Object.assign(new TypeError(`The argument 'stdio' is invalid. Received ${inspect(kind)}`), { code: "ERR_INVALID_ARG_VALUE" });
};

/** What the three standard streams are: "pipe", "inherit", "ignore", or the number of a file that was opened. */
export function kindsOf(stdio = "pipe") {
  const list = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  return [0, 1, 2].map((at) => kindOf(list[at], at));
}

/** The same for a process that lives on: it has files of its own, which stay open when the extension closes its own. */
export function stdioOf(stdio) {
  const files = [];
  const kinds = kindsOf(stdio).map((kind) => {
    if (typeof kind !== "number") return kind;
    const own = duplicate(kind);
    files.push(own);
    return own;
  });
  return { kinds, files };
}
