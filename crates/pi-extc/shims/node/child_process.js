// node:child_process over the host's `exec`. Not here: fork and message channels.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { ChildProcess, killByNumber } from "pi:shim/node/child_process/child";
import { inputOf, paramsOf, shapeOf, startFault } from "pi:shim/node/child_process/command";
import { kindsOf } from "pi:shim/node/child_process/stdio";
import { readWhole, writeAt } from "pi:shim/node/fs/descriptors";
import { runSync } from "pi:shim/node/fs/forms";

export { ChildProcess, killByNumber };
const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");
const MAX_BUFFER = 1024 * 1024;

export const spawn = (file, args, options) => new ChildProcess(shapeOf(file, args, options));

/** Runs to the end and calls back with both outputs. */
export function execFile(file, args, options, callback) {
  if (typeof args === "function") [callback, args, options] = [args, [], {}];
  else if (typeof options === "function") [callback, options] = [options, Array.isArray(args) ? {} : args];
  const shape = shapeOf(file, Array.isArray(args) ? args : [], options ?? (Array.isArray(args) ? {} : args));
  return collect(shape, callback, [shape.file, ...shape.args].join(" "));
}

export function exec(command, options, callback) {
  if (typeof options === "function") [callback, options] = [options, {}];
  const shell = options?.shell === undefined || options.shell === true ? true : options.shell;
  return collect(shapeOf(command, [], { ...options, shell }), callback, command);
}

function collect(shape, callback, line) {
  const { encoding = "utf8", maxBuffer = MAX_BUFFER, killSignal } = shape.options;
  const child = new ChildProcess({ ...shape, options: { ...shape.options, stdio: "pipe" } });
  const parts = { stdout: [], stderr: [] };
  const sizes = { stdout: 0, stderr: 0 };
  let problem;
  for (const channel of ["stdout", "stderr"]) {
    child[channel].on("data", (chunk) => {
      const room = maxBuffer - sizes[channel];
      sizes[channel] += chunk.length;
      parts[channel].push(chunk.length > room ? chunk.subarray(0, Math.max(0, room)) : chunk);
      if (sizes[channel] > maxBuffer && !problem) {
        problem = Object.assign(new RangeError(`${channel} maxBuffer length exceeded`), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", cmd: line });
        child.kill(killSignal);
      }
    });
  }
  const outputs = () => ["stdout", "stderr"].map((channel) => {
    const bytes = Buffer.concat(parts[channel]);
    return encoding === "buffer" || encoding === null || !Buffer.isEncoding(encoding) ? bytes : bytes.toString(encoding);
  });
  let isOver = false;
  const over = (fault) => {
    if (isOver) return;
    isOver = true;
    const [stdout, stderr] = outputs();
    if (fault) Object.assign(fault, { cmd: line, stdout, stderr });
    callback?.(fault ?? null, stdout, stderr);
  };
  child.on("error", (fault) => {
    problem ??= fault;
    if (fault.code !== "ABORT_ERR") over(problem);
  });
  child.on("close", (code, signal) => {
    if (!problem && (code !== 0 || signal)) {
      const text = Buffer.concat(parts.stderr).toString();
      problem = Object.assign(new Error(`Command failed: ${line}\n${text}`), { code, killed: child.killed, signal });
    }
    over(problem);
  });
  return child;
}

const promised = (start) => (...args) => {
  let child;
  const promise = new Promise((resolve, reject) => {
    child = start(...args, (fault, stdout, stderr) => (fault ? reject(Object.assign(fault, { stdout, stderr })) : resolve({ stdout, stderr })));
  });
  return Object.assign(promise, { child });
};
exec[PROMISIFY] = promised(exec);
execFile[PROMISIFY] = promised((file, ...rest) => execFile(file, Array.isArray(rest[0]) ? rest[0] : [], rest.length > 2 ? rest[1] : Array.isArray(rest[0]) || rest.length < 2 ? {} : rest[0], rest.at(-1)));

export function spawnSync(file, args, options) {
  const shape = shapeOf(file, args, options);
  const { encoding, maxBuffer = MAX_BUFFER, input } = shape.options;
  shape.options.maxBuffer = maxBuffer;
  const kinds = kindsOf(shape.options.stdio);
  const decode = (bytes) => {
    const buffer = typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
  };
  try {
    const { stdout, stderr, exit, truncated } = host.callSync("exec", paramsOf(shape, { stdin: typeof kinds[0] === "number" ? runSync(readWhole(kinds[0])) : inputOf(input), isStream: false }));
    const [out, errors] = [decode(stdout), decode(stderr)];
    const result = { pid: 0, output: [null, out, errors], stdout: out, stderr: errors, status: exit.code ?? null, signal: exit.code === undefined ? (exit.signal ?? shape.options.killSignal ?? "SIGTERM") : null };
    if (truncated) result.error = timeoutOr("ENOBUFS", shape);
    else if (exit.killed && shape.options.timeout > 0) result.error = timeoutOr("ETIMEDOUT", shape);
    passOn(kinds, result);
    return result;
  } catch (fault) {
    if (fault?.name !== "HostFault") throw fault;
    return { error: startFault(fault, "spawnSync", shape), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
  }
}

function timeoutOr(code, { file, args }) {
  return Object.assign(new Error(`spawnSync ${file} ${code}`), { errno: code === "ETIMEDOUT" ? -110 : -105, code, syscall: `spawnSync ${file}`, path: file, spawnargs: args });
}

// Inherited output belongs to the log, and that for a file goes there.
function passOn(kinds, result) {
  for (const [at, name] of [[1, "stdout"], [2, "stderr"]]) {
    const kind = kinds[at];
    if (kind === "pipe") continue;
    if (kind !== "ignore" && result[name]?.length > 0) {
      if (kind === "inherit") host.write(name, result[name].toString());
      else runSync(writeAt(kind, result[name]));
    }
    result[name] = result.output[at] = null;
  }
}

function check(result, line, options) {
  if (result.error) throw Object.assign(result.error, { ...result, error: undefined });
  if (result.status === 0) return result.stdout;
  const text = result.stderr?.toString() ?? "";
  if (text && !options?.stdio) host.write("stderr", text);
  const fault = new Error(`Command failed: ${line}${text ? `\n${text}` : ""}`);
  throw Object.assign(fault, { status: result.status, signal: result.signal, output: result.output, pid: result.pid, stdout: result.stdout, stderr: result.stderr });
}

export function execFileSync(file, args, options) {
  const shape = shapeOf(file, args, options);
  return check(spawnSync(shape.file, shape.args, shape.options), [shape.file, ...shape.args].join(" "), shape.options);
}

export function execSync(command, options) {
  const shell = options?.shell === undefined || options.shell === true ? true : options.shell;
  return check(spawnSync(command, [], { ...options, shell }), command, options);
}

export function fork() {
  throw Object.assign(new Error("child_process.fork is not available: there is no Node inside pi; spawn a program instead"), { code: "ERR_NOT_AVAILABLE" });
}

export default { ChildProcess, spawn, exec, execFile, fork, spawnSync, execSync, execFileSync };
