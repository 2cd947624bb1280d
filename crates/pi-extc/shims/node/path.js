// node:path. The rules of one system each in posix.js and win32.js; this module is the one of the host.
import host from "pi:host";
import { posix, win32 } from "pi:shim/node/path/rules";

const own = host.place.platform === "win32" ? win32 : posix;

export { posix, win32 };
export const { sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format, parse } = own;
export default own;
