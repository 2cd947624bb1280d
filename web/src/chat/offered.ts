/** What can be completed in an editor: commands of the page and of a session, and files where a session works. */
import type { Session, SlashCommandList } from "pi-client";
import { link } from "../link/link.svelte";
import { t } from "../texts";
import { PAGE_COMMANDS } from "./commands";
import { type Completion, mention } from "./complete";

/** Files that are offered at once. */
const FILES = 12;

/** The page's own commands, and those of a session that are not called the same. */
export function completionsOf(commands: SlashCommandList["commands"]): Completion[] {
  const own = PAGE_COMMANDS.map((name) => ({ insert: `/${name}`, label: `/${name}`, detail: t(`command.${name}`), goesOn: false }));
  const others = commands.map(({ name, description, source }) => ({ insert: `/${name}`, label: `/${name}`, detail: description ?? source, goesOn: false }));
  return [...own, ...others.filter((other) => !own.some((mine) => mine.label === other.label))];
}

export async function filesOf(session: Session, word: string): Promise<Completion[]> {
  if (!link.client.has("files")) {
    return [];
  }
  const { data } = await session.request({ type: "list_files", query: word, limit: FILES });
  return data.files.map(({ path, kind }) => ({
    insert: mention(kind === "directory" ? `${path}/` : path),
    label: path,
    detail: kind === "directory" ? t("file.folder") : "",
    goesOn: kind === "directory",
  }));
}
