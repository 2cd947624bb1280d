// Paths by the rules of POSIX and of Windows, as two objects made from one set of functions.
import host from "pi:host";

const LETTER = /^[a-zA-Z]:/;

/** Splits off what does not take part in `..`: drive, share and leading separator. */
function rootOf(path, isWindows) {
  if (!isWindows) return { device: "", root: path.startsWith("/") ? "/" : "" };
  if (LETTER.test(path)) return { device: path.slice(0, 2), root: /^[\\/]/.test(path.slice(2)) ? "\\" : "" };
  const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
  if (share) return { device: `\\\\${share[1]}\\${share[2]}`, root: "\\", length: share[0].length + (/[\\/]/.test(path[share[0].length] ?? "") ? 1 : 0) };
  return { device: "", root: /^[\\/]/.test(path) ? "\\" : "" };
}

function demandText(path, name = "path") {
  if (typeof path === "string") return;
  const shown = path === null || path === undefined ? `${path}` : typeof path === "object" ? `an instance of ${path.constructor?.name ?? "Object"}` : typeof path === "function" ? `function ${path.name}` : `type ${typeof path} (${String(path)})`;
  throw Object.assign(new TypeError(`The "${name}" argument must be of type string. Received ${shown}`), { code: "ERR_INVALID_ARG_TYPE" });
}

/** Takes `.` and `..` out of the part behind the root. */
function squash(path, isRooted, separators, sep) {
  const kept = [];
  for (const part of path.split(separators)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (!isRooted) kept.push(part);
  }
  return kept.join(sep);
}

function rules(isWindows) {
  const sep = isWindows ? "\\" : "/";
  const separators = isWindows ? /[\\/]/ : /\//;
  const isSeparator = (char) => char === "/" || (isWindows && char === "\\");
  const behind = (path, { device, root, length }) => path.slice(length ?? device.length).slice(length === undefined ? root.length : 0);

  function normalize(path) {
    demandText(path);
    if (path === "") return ".";
    const start = rootOf(path, isWindows);
    const isRooted = start.root !== "";
    let tail = squash(behind(path, start), isRooted, separators, sep);
    if (tail === "" && !isRooted) tail = ".";
    // What is left must not begin to name a drive that the path did not name.
    if (isWindows && start.device === "" && !isRooted && (LETTER.test(tail) || /\\[a-zA-Z]:(?:\\|$)/.test(tail))) tail = `.\\${tail}`;
    if (tail !== "" && isSeparator(path.at(-1))) tail += sep;
    return start.device + start.root + tail;
  }

  function isAbsolute(path) {
    demandText(path);
    return isWindows ? /^(?:[\\/]|[a-zA-Z]:[\\/])/.test(path) : path.startsWith("/");
  }

  function join(...parts) {
    for (const part of parts) demandText(part);
    const given = parts.filter((part) => part !== "");
    if (given.length === 0) return ".";
    let joined = given.join(sep);
    // A share must be meant: two separators that only arise from joining are one.
    if (isWindows && !/^[\\/]{2}[^\\/]/.test(given[0])) joined = joined.replace(/^[\\/]{2,}/, "\\");
    return normalize(joined);
  }

  function resolve(...parts) {
    let device = "";
    let tail = "";
    let isRooted = false;
    for (let i = parts.length - 1; i >= -1 && !(isRooted && (device !== "" || !isWindows)); i--) {
      let path = i >= 0 ? parts[i] : cwd();
      demandText(path, i >= 0 ? `paths[${i}]` : "path");
      if (path === "") continue;
      const start = rootOf(path, isWindows);
      if (start.device !== "") {
        if (device === "") device = start.device;
        else if (start.device.toLowerCase() !== device.toLowerCase()) continue;
      }
      if (isRooted) continue;
      tail = `${behind(path, start)}${sep}${tail}`;
      isRooted = start.root !== "";
    }
    const squashed = squash(tail, isRooted, separators, sep);
    return device + (isRooted ? sep : "") + squashed || ".";
  }

  function cwd() {
    const own = host.load("pi:shim/node/process").default.cwd();
    return isWindows ? own.replace(/\//g, "\\") : own;
  }

  function relative(from, to) {
    demandText(from, "from");
    demandText(to, "to");
    if (from === to) return "";
    const [one, other] = [resolve(from), resolve(to)];
    const fold = (path) => (isWindows ? path.toLowerCase() : path);
    if (fold(one) === fold(other)) return "";
    const split = (path) => path.split(separators).filter((part) => part !== "");
    const [a, b] = [split(one), split(other)];
    if (isWindows && fold(rootOf(one, true).device) !== fold(rootOf(other, true).device)) return other;
    let shared = 0;
    while (shared < a.length && shared < b.length && fold(a[shared]) === fold(b[shared])) shared++;
    return [...a.slice(shared).map(() => ".."), ...b.slice(shared)].join(sep);
  }

  function dirname(path) {
    demandText(path);
    if (path === "") return ".";
    const start = rootOf(path, isWindows);
    const head = path.slice(0, path.length - behind(path, start).length);
    const rest = behind(path, start);
    let end = rest.length;
    while (end > 0 && isSeparator(rest[end - 1])) end--;
    while (end > 0 && !isSeparator(rest[end - 1])) end--;
    // One separator belongs to neither side; more of them stay with the folder.
    if (end === 0) return head === "" ? "." : head;
    end--;
    if (end === 0 && !isWindows && start.root === "/") return "//";
    return head + rest.slice(0, end);
  }

  function basename(path, suffix) {
    if (suffix !== undefined) demandText(suffix, "suffix");
    demandText(path);
    let rest = isWindows && LETTER.test(path) ? path.slice(2) : path;
    while (rest.length > 0 && isSeparator(rest.at(-1))) rest = rest.slice(0, -1);
    const name = rest.split(separators).at(-1);
    return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : suffix && path === suffix ? "" : name;
  }

  function extname(path) {
    demandText(path);
    const name = basename(path);
    const dot = name.lastIndexOf(".");
    return dot <= 0 || /^\.+$/.test(name.slice(0, dot + 1)) && name === ".." ? "" : name.slice(dot);
  }

  function parse(path) {
    demandText(path);
    const start = rootOf(path, isWindows);
    const root = path.slice(0, path.length - behind(path, start).length);
    const base = basename(path.slice(root.length));
    // Node takes ".." right under the root for a name with a suffix.
    const ext = !isWindows && /^\/\.\.\/*$/.test(path) ? "." : extname(base);
    const dir = base === "" && root !== "" ? root : folderOf(path, root);
    return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
  }

  function folderOf(path, root) {
    const folder = dirname(path);
    if (folder === "//" && !isWindows) return "/";
    return folder === "." && !/^\.[\\/]/.test(path) ? "" : folder.length < root.length ? root : folder;
  }

  function format(parts) {
    if (parts === null || typeof parts !== "object") {
      throw Object.assign(new TypeError(`The "pathObject" argument must be of type object. Received ${parts === null || parts === undefined ? parts : `type ${typeof parts} (${typeof parts === "string" ? `'${parts}'` : parts})`}`), { code: "ERR_INVALID_ARG_TYPE" });
    }
    const folder = parts.dir || parts.root;
    const ext = parts.ext ? (parts.ext.startsWith(".") ? parts.ext : `.${parts.ext}`) : "";
    const base = parts.base || `${parts.name || ""}${ext}`;
    if (!folder) return base;
    return folder === parts.root ? `${folder}${base}` : `${folder}${sep}${base}`;
  }

  function toNamespacedPath(path) {
    if (!isWindows || typeof path !== "string" || path === "") return path;
    const full = resolve(path);
    if (/^\\\\[^?.]/.test(full)) return `\\\\?\\UNC\\${full.slice(2)}`;
    return LETTER.test(full) ? `\\\\?\\${full}` : path;
  }

  return { sep, delimiter: isWindows ? ";" : ":", resolve, normalize, isAbsolute, join, relative, toNamespacedPath, _makeLong: toNamespacedPath, dirname, basename, extname, format, parse };
}

export const posix = rules(false);
export const win32 = rules(true);
for (const own of [posix, win32]) Object.assign(own, { posix, win32 });
