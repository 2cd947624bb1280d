/** Names of files as short as they can be while no two are the same. */

/** For each path its shortest ending that no other of them has: `AGENTS.md`, or `project/AGENTS.md` where another folder has one too. */
export function shortest(paths: readonly string[]): ReadonlyMap<string, string> {
  const split = [...new Set(paths)].map((path) => ({ path, parts: path.split(/[\\/]/).filter((part) => part !== "") }));
  const ending = (parts: readonly string[], length: number) => parts.slice(-length).join("/");
  return new Map(
    split.map(({ path, parts }) => {
      const isShared = (length: number) => split.some((other) => other.path !== path && ending(other.parts, length) === ending(parts, length));
      const lengths = parts.map((_, index) => index + 1);
      const enough = lengths.find((length) => !isShared(length));
      return [path, enough === undefined ? path : ending(parts, enough)];
    }),
  );
}
