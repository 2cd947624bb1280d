// node:path/posix.
import { posix } from "pi:shim/node/path/rules";

export const { sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format, parse } = posix;
export default posix;
