// node:process. An extension is a guest: it may not end the host, change its environment, or see signals. What it sets in
// `process.env` is seen by itself and by the processes that it starts.
import host from "pi:host";
import { assumed } from "pi:shim/assumed";
import { EventEmitter } from "pi:shim/node/events";
import { environment } from "pi:shim/node/process/environment";

const { place } = host;
let folder = place.cwd;

class Exit extends Error {
  name = "ProcessExit";
  constructor(code) {
    super(`the extension called process.exit(${code}); it runs inside pi and cannot end it: return from the handler, or use ctx.shutdown()`);
    this.code = "ERR_PROCESS_EXIT";
    this.exitCode = code;
  }
}

const cannot = (what, remedy) => () => {
  throw Object.assign(new Error(`process.${what} is not available to an extension; ${remedy}`), { code: "ERR_NOT_AVAILABLE" });
};

const process = Object.assign(new EventEmitter(), {
  title: "pi", pid: place.pid, ppid: 1, platform: place.platform, arch: place.arch, execPath: place.execPath, execArgv: [], argv0: "pi",
  argv: [...place.argv], exitCode: undefined, version: `v${place.versions.node}`,
  versions: Object.freeze({ v8: "0", modules: "115", ...place.versions }),
  release: { name: "node", lts: "Iron" },
  config: { target_defaults: {}, variables: {} },
  features: { inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: true, tls_sni: true, tls_ocsp: false, tls: true },
  env: environment,
  noDeprecation: false,

  cwd: () => folder,
  chdir(path) {
    const full = host.load("pi:shim/node/path").resolve(path);
    const stats = host.load("pi:shim/node/fs").default.statSync(full);
    if (!stats.isDirectory()) throw host.load("pi:shim/node/fs/fault").systemFault("ENOTDIR", "chdir", { path: folder, dest: path });
    folder = full;
  },
  nextTick(callback, ...args) {
    if (typeof callback !== "function") throw Object.assign(new TypeError('The "callback" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
    if (host.nextTick) host.nextTick(callback, ...args);
    else queueMicrotask(() => callback(...args));
  },
  hrtime: Object.assign((since) => {
    const now = host.monotonic();
    const [seconds, nanos] = [Math.floor(now / 1000), Math.floor((now % 1000) * 1e6)];
    if (!since) return [seconds, nanos];
    const [a, b] = [seconds - since[0], nanos - since[1]];
    return b < 0 ? [a - 1, b + 1e9] : [a, b];
  }, { bigint: () => BigInt(Math.floor(host.monotonic() * 1e6)) }),
  uptime: () => host.monotonic() / 1000,
  memoryUsage: Object.assign(() => assumed("process.memoryUsage", { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => assumed("process.memoryUsage.rss", 0) }),
  cpuUsage: () => ({ user: Math.floor(host.monotonic() * 1000), system: 0 }),
  resourceUsage: () => assumed("process.resourceUsage", { userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }),
  umask: () => 0o022,
  ...(place.user && { getuid: () => place.user.uid, geteuid: () => place.user.uid, getgid: () => place.user.gid, getegid: () => place.user.gid, getgroups: () => [place.user.gid] }),
  // By its header packages choose among their native parts; none of those is loaded here.
  report: {
    getReport: () => ({ header: { reportVersion: 3, nodejsVersion: process.version, arch: place.arch, platform: place.platform, componentVersions: { ...process.versions }, ...(place.platform === "linux" && { glibcVersionRuntime: "2.31" }) }, sharedObjects: [] }),
    writeReport: cannot("report.writeReport", "there is no report of the process of an extension"),
  },
  emitWarning(warning, options) {
    const kind = typeof options === "string" ? options : (options?.type ?? warning?.name ?? "Warning");
    host.write("stderr", `(pi) ${kind}: ${warning?.message ?? warning}\n`);
  },
  exit(code = process.exitCode ?? 0) { throw new Exit(code); },
  reallyExit(code) { throw new Exit(code); },
  abort() { throw new Exit(134); },
  kill(pid, signal = "SIGTERM") { return host.load("pi:shim/node/child_process").killByNumber(pid, signal); },
  binding: cannot("binding", "there are no native modules"),
  dlopen: cannot("dlopen", "there are no native modules"),
  setUncaughtExceptionCaptureCallback() {},
  hasUncaughtExceptionCaptureCallback: () => false,
  getActiveResourcesInfo: () => [],
  loadEnvFile: cannot("loadEnvFile", "read the file and set process.env"),
  getBuiltinModule: (name) => host.load("pi:shim/node/module").builtin(name),
});

const lazy = (name, make) => {
  let value;
  Object.defineProperty(process, name, { get: () => (value ??= make()), enumerable: true, configurable: true });
};
// Streams are many modules, and most extensions only ask for the platform or the environment.
const standard = () => host.load("pi:shim/node/process/standard");
lazy("stdout", () => standard().standardOutput("stdout", 1));
lazy("stderr", () => standard().standardOutput("stderr", 2));
lazy("stdin", () => standard().standardInput());

Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });
export default process;
