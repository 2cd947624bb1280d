// CombinedAutocompleteProvider: slash commands and paths.
import host from "pi:host";
import { fuzzyFilter } from "pi:shim/pi/tui/fuzzy";

export class CombinedAutocompleteProvider {
  #commands;
  #folder;
  constructor(commands = [], folder = host.place.cwd) {
    this.#commands = commands;
    this.#folder = folder;
  }
  async getSuggestions(lines, line, column, { force } = {}) {
    const head = lines[line].slice(0, column);
    if (head.startsWith("/") && !force) return this.#slash(head);
    const word = /(?:^|[\s"'=])(@?[^\s"'=]*)$/.exec(head)?.[1] ?? "";
    return word.startsWith("@") || force || /^(?:\.{1,2}|~)?\//.test(word) ? this.#paths(word) : null;
  }
  async #slash(head) {
    const space = head.indexOf(" ");
    if (space < 0) {
      const found = fuzzyFilter(this.#commands, head.slice(1), (own) => own.name ?? own.value);
      return found.length === 0 ? null : { prefix: head, items: found.map((own) => ({ value: own.name ?? own.value, label: own.name ?? own.label, ...(own.description && { description: own.description }) })) };
    }
    const command = this.#commands.find((own) => (own.name ?? own.value) === head.slice(1, space));
    const prefix = head.slice(space + 1);
    const items = await command?.getArgumentCompletions?.(prefix);
    return items?.length > 0 ? { prefix, items } : null;
  }
  #paths(word) {
    const fs = host.load("pi:shim/node/fs").default;
    const { dirname, join } = host.load("pi:shim/node/path");
    const mark = word.startsWith("@") ? "@" : "";
    const path = word.slice(mark.length);
    const folder = path.endsWith("/") || path === "" ? path : dirname(path) === "." ? "" : `${dirname(path).replace(/\/$/, "")}/`;
    const start = path.slice(folder.length).toLowerCase();
    let entries = [];
    try {
      entries = fs.readdirSync(join(this.#folder, folder.replace(/^~\//, `${host.place.homeDir}/`)), { withFileTypes: true });
    } catch {
      return null;
    }
    const items = entries.filter((entry) => entry.name.toLowerCase().startsWith(start)).slice(0, 50).map((entry) => {
      const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
      return { value: `${mark}${folder}${name}`, label: name };
    });
    return items.length === 0 ? null : { prefix: word, items };
  }
  applyCompletion(lines, line, column, item, prefix) {
    const text = lines[line];
    const start = column - prefix.length;
    const isCommand = prefix.startsWith("/") && start === 0;
    const value = isCommand ? `/${item.value} ` : `${item.value}${item.value.startsWith("@") && !item.value.endsWith("/") ? " " : ""}`;
    const made = [...lines];
    made[line] = text.slice(0, start) + value + text.slice(column);
    return { lines: made, cursorLine: line, cursorCol: start + value.length };
  }
}
