// Lists to choose from: SelectList and SettingsList.
import { getKeybindings } from "pi:shim/pi/tui/bindings";
import { fuzzyFilter } from "pi:shim/pi/tui/fuzzy";
import { Input } from "pi:shim/pi/tui/input";
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:shim/pi/tui/width";

const oneLine = (text) => text.replace(/[\r\n]+/g, " ").trim();

/** Which part of a long list is seen around the chosen item. */
function windowOf(count, chosen, most) {
  const start = Math.max(0, Math.min(chosen - Math.floor(most / 2), count - most));
  return [start, Math.min(start + most, count)];
}

export class SelectList {
  #all;
  #shown;
  #most;
  #theme;
  #layout;
  #chosen = 0;
  onSelect;
  onCancel;
  onSelectionChange;
  constructor(items, maxVisible, theme, layout = {}) {
    this.#all = items;
    this.#shown = items;
    this.#most = maxVisible;
    this.#theme = theme;
    this.#layout = layout;
  }
  setFilter(filter) {
    this.#shown = this.#all.filter((item) => item.value.toLowerCase().startsWith(filter.toLowerCase()));
    this.#chosen = 0;
  }
  setSelectedIndex(index) { this.#chosen = Math.max(0, Math.min(index, this.#shown.length - 1)); }
  getSelectedItem() { return this.#shown[this.#chosen] ?? null; }
  invalidate() {}

  render(width) {
    if (this.#shown.length === 0) return [this.#theme.noMatch("  No matching commands")];
    const [start, end] = windowOf(this.#shown.length, this.#chosen, this.#most);
    const { minPrimaryColumnWidth: least = 32, maxPrimaryColumnWidth: widest = 32 } = this.#layout;
    const longest = Math.max(...this.#shown.map((item) => visibleWidth(item.label || item.value))) + 2;
    const column = Math.max(Math.min(least, widest), Math.min(longest, Math.max(least, widest)));
    const lines = this.#shown.slice(start, end).map((item, at) => this.#line(item, start + at === this.#chosen, width, column));
    if (start > 0 || end < this.#shown.length) lines.push(this.#theme.scrollInfo(truncateToWidth(`  (${this.#chosen + 1}/${this.#shown.length})`, width - 2, "")));
    return lines;
  }

  #line(item, isChosen, width, column) {
    const prefix = isChosen ? "→ " : "  ";
    const label = item.label || item.value;
    const description = item.description ? oneLine(item.description) : "";
    const shorten = (room) => {
      const cut = this.#layout.truncatePrimary?.({ text: label, maxWidth: room, columnWidth: column, item, isSelected: isChosen }) ?? label;
      return truncateToWidth(cut, room, "");
    };
    if (description && width > 40) {
      const columns = Math.max(1, Math.min(column, width - 6));
      const name = shorten(Math.max(1, columns - 2));
      const gap = " ".repeat(Math.max(1, columns - visibleWidth(name)));
      const room = width - 2 - visibleWidth(name) - gap.length - 2;
      if (room > 10) {
        const text = truncateToWidth(description, room, "");
        return isChosen ? this.#theme.selectedText(`${prefix}${name}${gap}${text}`) : prefix + name + this.#theme.description(gap + text);
      }
    }
    const name = shorten(width - 4);
    return isChosen ? this.#theme.selectedText(prefix + name) : prefix + name;
  }

  handleInput(data) {
    const keys = getKeybindings();
    const count = this.#shown.length;
    const move = (to) => {
      this.#chosen = to;
      const item = this.getSelectedItem();
      if (item) this.onSelectionChange?.(item);
    };
    if (keys.matches(data, "tui.select.up")) move(this.#chosen === 0 ? Math.max(0, count - 1) : this.#chosen - 1);
    else if (keys.matches(data, "tui.select.down")) move(this.#chosen >= count - 1 ? 0 : this.#chosen + 1);
    else if (keys.matches(data, "tui.select.pageUp")) move(Math.max(0, this.#chosen - this.#most));
    else if (keys.matches(data, "tui.select.pageDown")) move(Math.max(0, Math.min(count - 1, this.#chosen + this.#most)));
    else if (keys.matches(data, "tui.select.confirm")) {
      const item = this.getSelectedItem();
      if (item) this.onSelect?.(item);
    } else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
  }
}

export class SettingsList {
  #items;
  #most;
  #theme;
  #onChange;
  #onCancel;
  #search;
  #chosen = 0;
  #submenu;
  constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
    this.#items = items;
    this.#most = maxVisible;
    this.#theme = theme;
    this.#onChange = onChange;
    this.#onCancel = onCancel;
    if (options.enableSearch) this.#search = new Input();
  }
  updateValue(id, value) {
    const item = this.#items.find((own) => own.id === id);
    if (item) item.currentValue = value;
  }
  invalidate() { this.#submenu?.invalidate?.(); }
  #shown() {
    const query = this.#search?.getValue() ?? "";
    return query ? fuzzyFilter(this.#items, query, (item) => item.label) : this.#items;
  }

  render(width) {
    if (this.#submenu) return this.#submenu.render(width);
    const lines = this.#search ? [...this.#search.render(width), ""] : [];
    const shown = this.#shown();
    if (shown.length === 0) lines.push(this.#theme.hint(truncateToWidth(this.#items.length === 0 ? "  No settings available" : "  No matching settings", width)));
    const [start, end] = windowOf(shown.length, this.#chosen, this.#most);
    const column = Math.min(30, Math.max(0, ...this.#items.map((item) => visibleWidth(item.label))));
    for (let at = start; at < end; at++) {
      const item = shown[at];
      const isChosen = at === this.#chosen;
      const label = item.label + " ".repeat(Math.max(0, column - visibleWidth(item.label)));
      const room = width - 2 - column - 4;
      const value = truncateToWidth(item.currentValue, Math.max(1, room), "");
      lines.push(truncateToWidth(`${isChosen ? this.#theme.cursor : "  "}${this.#theme.label(label, isChosen)}  ${this.#theme.value(value, isChosen)}`, width));
    }
    if (start > 0 || end < shown.length) lines.push(this.#theme.hint(truncateToWidth(`  (${this.#chosen + 1}/${shown.length})`, width - 2, "")));
    const description = shown[this.#chosen]?.description;
    if (description) lines.push("", ...wrapTextWithAnsi(description, width - 4).map((line) => this.#theme.description(`  ${line}`)));
    lines.push("", truncateToWidth(this.#theme.hint(this.#search ? "  Type to search · Enter/Space to change · Esc to cancel" : "  Enter/Space to change · Esc to cancel"), width));
    return lines;
  }

  handleInput(data) {
    if (this.#submenu) return this.#submenu.handleInput?.(data);
    const keys = getKeybindings();
    const count = this.#shown().length;
    if (keys.matches(data, "tui.select.up")) this.#chosen = count === 0 ? 0 : (this.#chosen - 1 + count) % count;
    else if (keys.matches(data, "tui.select.down")) this.#chosen = count === 0 ? 0 : (this.#chosen + 1) % count;
    else if (keys.matches(data, "tui.select.confirm") || data === " ") this.#change();
    else if (keys.matches(data, "tui.select.cancel")) this.#onCancel();
    else if (this.#search) {
      this.#search.handleInput(data);
      this.#chosen = 0;
    }
    return undefined;
  }

  #change() {
    const item = this.#shown()[this.#chosen];
    if (!item) return;
    const set = (value) => {
      item.currentValue = value;
      this.#onChange(item.id, value);
    };
    if (item.submenu) {
      this.#submenu = item.submenu(item.currentValue, (value) => {
        if (value !== undefined) set(value);
        this.#submenu = undefined;
      });
    } else if (item.values?.length > 0) set(item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
  }
}
