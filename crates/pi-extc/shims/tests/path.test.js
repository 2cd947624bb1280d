import { shim } from "./setup.js";
import theirs from "node:path";
import { same } from "./differ.js";

const { posix, win32 } = await shim("node/path");
const PATHS = ["", ".", "..", "/", "//", "///", "a", "a/", "/a", "//a", "/a/", "a/b", "/a/b/", "/a/b/../c", "a/../..", "../a", "./a/./b", "/..", "/a//b", "a.txt", ".a", ".a.b", "a.", "a..", "..a", "...", "/x/.y", "a/b.c/d", "b.c/", "C:", "C:\\", "C:a", "C:\\a\\b", "C:/a/../b", "\\\\host\\share\\a", "//host/share/a", "\\a", "a\\b", "a\\..\\..", "file:stream"];
const one = PATHS.map((path) => [path]);
const two = PATHS.flatMap((path) => PATHS.map((other) => [path, other]));
for (const [name, own, other] of [["posix", posix, theirs.posix], ["win32", win32, theirs.win32]]) {
  for (const method of ["normalize", "dirname", "basename", "extname", "parse", "isAbsolute"]) same(`${name}.${method}`, own, other, one, (path, text) => path[method](text));
  same(`${name}.join`, own, other, two, (path, a, b) => path.join(a, b));
  same(`${name}.basename with a suffix`, own, other, [["a.txt", ".txt"], ["a", "a"], ["/x/a.b.c", ".c"], ["abc", "bc"]], (path, a, b) => path.basename(a, b));
  same(`${name}.format of parse`, own, other, one, (path, text) => path.format(path.parse(text)));
  same(`${name} refuses what is no text`, own, other, [[1], [null], [undefined], [{}]], (path, value) => path.join(value));
}
same("posix.resolve", posix, theirs.posix, two, (path, a, b) => path.resolve(a, b));
same("posix.relative", posix, theirs.posix, two, (path, a, b) => path.relative(a, b));
same("win32.relative", win32, theirs.win32, [["C:\\a\\b", "C:\\a\\c"], ["C:\\a", "D:\\b"], ["C:\\A\\b", "c:\\a\\B\\d"], ["\\\\h\\s\\a", "\\\\h\\s\\b"]], (path, a, b) => path.relative(a, b));
same("win32.resolve", win32, theirs.win32, [["C:\\a", "..\\b"], ["C:\\a", "D:\\b"], ["C:\\", "\\x"], ["C:\\a", "C:b"]], (path, a, b) => path.resolve(a, b));
