// node:path/win32.
import { win32 } from "pi:shim/node/path/rules";

export const { sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format, parse } = win32;
export default win32;
