/** The language of a file by its name. */
export function languageOf(path: string): string {
  const name = path.split(/[\\/]/).at(-1)?.toLowerCase() ?? "";
  return name.includes(".") ? (name.split(".").at(-1) ?? "") : name;
}
