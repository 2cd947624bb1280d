/**
 * The sessions that there are: those that the server holds, and those on disk.
 *
 * The server reads every file to list what is on disk, so that list is read when files come or go, and not after everything that is said.
 */
import type { ListedSession, ListedStoredSession, StoredSessionList } from "pi-client";
import { hasCode, link, type Trouble, trouble } from "../link/link.svelte";
import { asking } from "./asking.svelte";
import { titleOf } from "./attached";
import { fileIdOf } from "./files";

/** One line of the list. */
export interface Listed {
  /** What the address names: the id of one that is loaded, else that of its file. */
  id: string;
  state: "working" | "open" | "stored" | "lost";
  name: string;
  cwd: string;
  cost: number | undefined;
  /** Some of it has no price that is known: it was that much, or more. */
  isCostLeast: boolean;
  updatedAt: number;
  messageCount: number;
  file: string | undefined;
  /** Whether it works in a folder that is none of the server's: it can be seen here, and not opened. */
  isOutside: boolean;
}

const PAGE = 40;
/** Changes that come close together are read once. */
const PAUSE_MS = 200;

class Sessions {
  all = $state.raw<readonly Listed[]>([]);
  isLoaded = $state.raw(false);
  hasMore = $state.raw(false);
  problem = $state.raw<Trouble | undefined>();
  search = $state.raw("");
  private pages = 1;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private reading = 0;
  private stored: readonly ListedStoredSession[] = [];
  /** Whether the list of what is on disk is old. */
  private isStale = true;
  /** What was said first in a file; that never changes. */
  private readonly openings = new Map<string, string>();

  constructor() {
    // Other programs write sessions too; whoever comes back to the page sees them.
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") {
        this.readSoon("all");
      }
    });
    // Runs begin and end without commands as well: by what waits, by extensions, and after the command was answered.
    asking.onwork = () => this.readSoon("open");
    link.onEvent((event) => {
      switch (event.type) {
        case "session_created":
          return this.readSoon("open");
        case "session_deleted":
        case "server_ready":
          return this.readSoon("all");
        case "command_started":
        case "command_finished":
          if (MOVES.includes(event.data.commandType)) {
            this.readSoon("all");
          } else if (CHANGES.includes(event.data.commandType)) {
            this.readSoon("open");
          }
          return;
        default:
          return;
      }
    });
  }

  /** The id that the server has for a session which is named by it, or by its file. */
  heldAs(name: string): string {
    const held = this.all.filter(({ state }) => state !== "stored");
    return (held.find(({ id }) => id === name) ?? held.find(({ file }) => fileIdOf(file ?? "") === name))?.id ?? name;
  }

  /** The folder of a session, also while the list is behind or holds only what is searched for; empty if nobody knows. */
  async folderOf(id: string): Promise<string> {
    const listed = this.all.find((session) => session.id === id)?.cwd;
    if (listed !== undefined && listed !== "") {
      return listed;
    }
    const { data } = await link.client.request({ type: "list_sessions" });
    return data.sessions.find(({ sessionId }) => sessionId === id)?.cwd ?? "";
  }

  find(text: string): void {
    this.search = text;
    this.pages = 1;
    this.readSoon("all");
  }

  async more(): Promise<void> {
    this.pages += 1;
    this.isStale = true;
    await this.read();
  }

  readSoon(what: "open" | "all"): void {
    this.isStale ||= what === "all";
    // Not put off by what happens meanwhile: where several sessions work, something always does.
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.read();
    }, PAUSE_MS);
  }

  async read(): Promise<void> {
    this.reading += 1;
    const reading = this.reading;
    const search = this.search.trim() === "" ? {} : { search: this.search.trim() };
    const isStale = this.isStale;
    try {
      const [loaded, stored] = await Promise.all([
        link.client.request({ type: "list_sessions", ...search }),
        isStale ? link.client.request({ type: "list_stored_sessions", ...search, limit: PAGE * this.pages }) : undefined,
      ]);
      if (reading !== this.reading) {
        return;
      }
      if (stored !== undefined) {
        this.takeStored(stored.data);
      }
      if (this.search.trim() === "") {
        // Only those that are loaded tell how they think, and only they can ask.
        asking.follow(loaded.data.sessions.filter((session) => session.thinkingLevel !== undefined).map((session) => session.sessionId));
      }
      const held = loaded.data.sessions.map(ofLoaded);
      const files = new Set(held.map((session) => session.file));
      for (const session of held) {
        session.name ||= titleOf(this.openings.get(session.file ?? "") ?? "");
      }
      held.sort((one, other) => other.updatedAt - one.updatedAt);
      this.all = [...held, ...this.stored.filter((session) => !files.has(session.sessionFile)).map(ofStored)];
      this.problem = undefined;
      this.isLoaded = true;
      if (!isStale && held.some((session) => session.name === "" && session.messageCount > 0 && session.file !== undefined)) {
        this.readSoon("all"); // Something was said in it for the first time, and its file says what.
      }
    } catch (error) {
      this.problem = trouble(error);
    }
  }

  private takeStored({ sessions, nextCursor }: StoredSessionList): void {
    this.isStale = false;
    this.stored = sessions;
    this.hasMore = nextCursor !== undefined;
    for (const { sessionFile, firstMessage } of sessions) {
      if (firstMessage !== undefined) {
        this.openings.set(sessionFile, firstMessage);
      }
    }
  }

  /** Makes a session and returns its id. */
  async create(cwd?: string): Promise<string> {
    const session = await link.client.createSession(cwd === undefined || cwd === "" ? {} : { cwd });
    this.readSoon("open");
    return session.id;
  }

  /** Loads one from disk, and returns the id that it has now; that of its file, if another program has it open: it can be looked at. */
  async resume(file: string): Promise<string> {
    try {
      const session = await link.client.loadSession(file);
      this.readSoon("open");
      return session.id;
    } catch (error) {
      const stored = this.all.find((session) => session.file === file);
      if (stored === undefined || !hasCode(error, "session_in_use")) {
        throw error;
      }
      return stored.id;
    }
  }

  /** Lets the server forget it; its file stays. */
  async close(id: string): Promise<void> {
    await link.client.request({ type: "delete_session", sessionId: id });
    this.readSoon("all");
  }

  /** Names it. One on disk is opened for that and closed again: a name is written as everything else that is done in a session. */
  async rename(session: Listed, name: string): Promise<void> {
    const isStored = session.state === "stored" && session.file !== undefined;
    const id = isStored ? (await link.client.loadSession(session.file ?? "")).id : session.id;
    try {
      await link.client.request({ type: "set_session_name", sessionId: id, name });
    } finally {
      if (isStored) {
        await link.client.request({ type: "delete_session", sessionId: id });
      }
    }
    this.readSoon("all");
  }

  /** Removes its file for good. */
  async remove(session: Listed): Promise<void> {
    if (session.state !== "stored") {
      await link.client.request({ type: "delete_session", sessionId: session.id }).catch(unlessClosed);
    }
    if (session.file !== undefined && session.state !== "lost") {
      const fileName = session.file.split(/[\\/]/).at(-1) ?? "";
      await link.client.request({ type: "delete_stored_session", sessionPath: session.file, fileName });
    }
    this.readSoon("all");
  }
}

/** Somebody has closed it meanwhile; its file is there all the same. */
function unlessClosed(error: unknown): void {
  if (!hasCode(error, "session_not_found")) {
    throw error;
  }
}

/** Commands of anybody after which a session that the server holds is not what the list tells. */
const CHANGES = ["prompt", "steer", "follow_up", "abort", "set_session_name", "load_session", "create_session", "compact", "bash"];
/** Those after which other files are on disk, or are held. */
const MOVES = ["fork", "new_session", "switch_session_file", "delete_session", "delete_stored_session"];

function ofLoaded(session: ListedSession): Listed {
  return {
    id: session.sessionId,
    state: session.fileExists === false ? "lost" : session.isStreaming ? "working" : "open",
    name: session.sessionName ?? titleOf(session.firstMessage ?? ""),
    cwd: session.cwd ?? "",
    cost: session.cost,
    isCostLeast: session.costAtLeast === true,
    updatedAt: Date.parse(session.updatedAt ?? session.createdAt),
    messageCount: session.messageCount,
    file: session.sessionFile,
    isOutside: false,
  };
}

function ofStored(session: ListedStoredSession): Listed {
  return {
    id: session.sessionId,
    state: session.fileExists ? "stored" : "lost",
    name: session.sessionName ?? titleOf(session.firstMessage ?? ""),
    cwd: session.cwd,
    cost: session.cost,
    isCostLeast: session.costAtLeast === true,
    updatedAt: Date.parse(session.updatedAt ?? session.createdAt),
    messageCount: session.messageCount,
    file: session.sessionFile,
    isOutside: session.outsideRoots === true,
  };
}

export const sessions = new Sessions();
