/** The files that are looked at. They stay while somebody looks at something else: an address cannot bring them back. */
import type { Library, Opened } from "./model/album";

export type FileView = "envelope" | "diff" | "treemap";
export type Found = { name: string; opened: Opened };

class Files {
  library = $state.raw<Library>();
  refused = $state.raw<{ name: string; problems: (Opened & { ok: false })["problems"] }[]>([]);
  view = $state<FileView>("envelope");
  /** Whether the page brought them along: then a link to it leads to them. */
  isBrought = $state(false);
}

export const files = new Files();
