// node:os. What the host says of its place; nothing about users, memory or networks, which an extension does not need.
import host from "pi:host";
import { assumed } from "pi:shim/assumed";

const { place } = host;
const isWindows = place.platform === "win32";

export const EOL = isWindows ? "\r\n" : "\n";
export const devNull = isWindows ? "\\\\.\\nul" : "/dev/null";
export const platform = () => place.platform;
export const arch = () => place.arch;
export const machine = () => ({ x64: "x86_64", arm64: place.platform === "darwin" ? "arm64" : "aarch64" })[place.arch] ?? place.arch;
export const type = () => ({ linux: "Linux", darwin: "Darwin", win32: "Windows_NT" })[place.platform] ?? place.platform;
export const release = () => assumed("os.release", "0.0.0");
export const version = () => "";
export const homedir = () => place.homeDir;
export const tmpdir = () => place.tempDir;
export const hostname = () => place.hostname;
export const endianness = () => "LE";
export const uptime = () => Math.floor(host.monotonic() / 1000);
export const loadavg = () => assumed("os.loadavg", [0, 0, 0]);
export const totalmem = () => assumed("os.totalmem", 8 * 2 ** 30);
export const freemem = () => assumed("os.freemem", 4 * 2 ** 30);
export const availableParallelism = () => assumed("os.availableParallelism", 2);
const processor = () => ({ model: "unknown", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } });
export const cpus = () => assumed("os.cpus", [processor(), processor()]);
export const networkInterfaces = () => assumed("os.networkInterfaces", {});
export const getPriority = () => 0;
export const setPriority = () => {};

export function userInfo() {
  const { environment } = host.load("pi:shim/node/process/environment");
  const username = environment.USER ?? environment.USERNAME ?? place.homeDir.split(/[\\/]/).at(-1);
  const { uid, gid } = place.user ?? { uid: -1, gid: -1 };
  return { uid, gid, username, homedir: place.homeDir, shell: isWindows ? null : (environment.SHELL ?? "/bin/sh") };
}

const SIGNALS = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12,
  SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGWINCH: 28,
};
export const constants = Object.freeze({
  signals: Object.freeze(SIGNALS), errno: Object.freeze({ ENOENT: 2, EACCES: 13, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EPIPE: 32 }),
  priority: Object.freeze({ PRIORITY_LOW: 19, PRIORITY_NORMAL: 0, PRIORITY_HIGH: -14 }), dlopen: Object.freeze({}), UV_UDP_REUSEADDR: 4,
});

export default {
  EOL, devNull, platform, arch, machine, type, release, version, homedir, tmpdir, hostname, endianness, uptime, loadavg, totalmem, freemem,
  availableParallelism, cpus, networkInterfaces, getPriority, setPriority, userInfo, constants,
};
