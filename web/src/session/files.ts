/**
 * The files of sessions. The id that a session has on the server ends when it is closed; that of its file stays. Links name the file's, and
 * this browser remembers which file a session had that it has shown, for addresses that name the other.
 */
import { hasCode, link } from "../link/link.svelte";

/** The id that the name of a file ends with. */
export function fileIdOf(path: string): string | undefined {
  return /_([^_\\/]+)\.jsonl$/.exec(path)?.[1];
}

const STORED = "pi.files";
/** Sessions that are remembered, the newest. */
const MOST = 300;
const PAGE = 200;

function remembered(): [string, string][] {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "[]") as [string, string][];
  } catch {
    return []; // Storage is off, or somebody else wrote there.
  }
}

export function rememberFile(session: string, path: string): void {
  const all = remembered();
  if (all.some(([id, file]) => id === session && file === path)) {
    return;
  }
  try {
    localStorage.setItem(STORED, JSON.stringify([...all.filter(([id]) => id !== session), [session, path]].slice(-MOST)));
  } catch {
    // Storage is off: links go on to name the file.
  }
}

/** What became of a session that was on disk. */
export type Loaded = { id: string } | { heldElsewhere: string };

/**
 * Loads the session that this is the id of, or of whose file. Tells the id that it has now: another one if its file is loaded under
 * another; or the file, if another program has it open. Nothing if there is no such file.
 */
export async function loadFromDisk(session: string): Promise<Loaded | undefined> {
  const path = remembered().find(([id]) => id === session)?.[1] ?? (await findFile(session));
  if (path === undefined) {
    return undefined;
  }
  try {
    return { id: (await link.client.loadSession(path, { sessionId: session })).id };
  } catch (error) {
    if (!hasCode(error, "session_in_use")) {
      throw error;
    }
    const { data } = await link.client.request({ type: "list_sessions" });
    const held = data.sessions.find(({ sessionFile }) => sessionFile === path);
    return held === undefined ? { heldElsewhere: path } : { id: held.sessionId };
  }
}

/** The file of a session by the id that its name ends with. */
export async function findFile(fileId: string): Promise<string | undefined> {
  let cursor: string | undefined;
  do {
    const { data } = await link.client.request({ type: "list_stored_sessions", limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const found = data.sessions.find(({ sessionId }) => sessionId === fileId);
    if (found !== undefined) {
      return found.sessionFile;
    }
    cursor = data.nextCursor;
  } while (cursor !== undefined);
  return undefined;
}
