// What a caller asks to run, as the parameters of `exec`.
import host from "pi:host";
import { givenTo } from "pi:shim/node/process/environment";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);

function demandText(value, name) {
  if (typeof value === "string") return;
  const shown = value === null || value === undefined ? `${value}` : typeof value === "object" ? `an instance of ${value.constructor?.name ?? "Object"}` : `type ${typeof value} (${inspect(value)})`;
  throw Object.assign(new TypeError(`The "${name}" argument must be of type string. Received ${shown}`), { code: "ERR_INVALID_ARG_TYPE" });
}

/** `(file, args?, options?)` in any of the shapes that Node takes. */
export function shapeOf(file, args, options) {
  demandText(file, "file");
  if (file === "") throw Object.assign(new TypeError("The argument 'file' cannot be empty. Received ''"), { code: "ERR_INVALID_ARG_VALUE" });
  if (args !== undefined && args !== null && !Array.isArray(args)) [args, options] = [[], args];
  return { file, args: (args ?? []).map(String), options: { ...options } };
}

/** The program and arguments, with `shell` spelled out. */
function line({ file, args, options }) {
  if (!options.shell) return { command: file, args };
  const text = [file, ...args].join(" ");
  if (host.place.platform === "win32") {
    const shell = typeof options.shell === "string" ? options.shell : "cmd.exe";
    return /powershell|pwsh/i.test(shell) ? { command: shell, args: ["-Command", text] } : { command: shell, args: ["/d", "/s", "/c", `"${text}"`] };
  }
  return { command: typeof options.shell === "string" ? options.shell : "/bin/sh", args: ["-c", text] };
}

export function folderOf(cwd) {
  const own = host.load("pi:shim/node/process").default.cwd();
  if (cwd === undefined || cwd === null) return own === host.place.cwd ? undefined : own;
  const text = typeof cwd === "object" ? host.load("pi:shim/node/url").fileURLToPath(cwd) : String(cwd);
  return host.load("pi:shim/node/path").resolve(text);
}

/** @returns the parameters of a host call; members without a value are left out */
export function paramsOf(shape, { stdin, isStream }) {
  const { options } = shape;
  const params = { ...line(shape), ...givenTo(options.env), stream: isStream };
  const cwd = folderOf(options.cwd);
  if (cwd !== undefined) params.cwd = cwd;
  if (stdin !== undefined) params.stdin = stdin;
  if (options.timeout > 0) params.timeout_ms = Math.ceil(options.timeout);
  if (isStream) params.announce = true;
  if (!isStream && Number.isFinite(options.maxBuffer)) params.max_output_bytes = options.maxBuffer;
  return params;
}

export const inputOf = (input) => (input === undefined || input === null ? undefined : typeof input === "string" ? input : new Uint8Array(input.buffer, input.byteOffset, input.byteLength));

/** What a failed start looks like: `spawn git ENOENT`. */
export function startFault(fault, syscall, { file, args }) {
  if (fault?.name !== "HostFault") return fault;
  const code = fault.details?.errno ?? (fault.code === "denied" ? "EACCES" : fault.code === "timeout" ? "ETIMEDOUT" : "EIO");
  const { errnoOf } = host.load("pi:shim/node/fs/fault");
  const reason = fault.details?.errno ? "" : ` (${fault.message})`;
  return Object.assign(new Error(`${syscall} ${file} ${code}${reason}`, { cause: fault }), { errno: errnoOf(code), code, syscall: `${syscall} ${file}`, path: file, spawnargs: args });
}
