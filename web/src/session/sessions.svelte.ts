/** The sessions that there are: those that the server holds, and those on disk. */
import type { ListedSession, ListedStoredSession } from "pi-client";
import { link, type Trouble, trouble } from "../link/link.svelte";
import { titleOf } from "./attached";

/** One line of the list. */
export interface Listed {
  /** What the address names: the id of one that is loaded, else that of its file. */
  id: string;
  state: "working" | "open" | "stored" | "lost";
  name: string;
  cwd: string;
  cost: number | undefined;
  updatedAt: number;
  messageCount: number;
  file: string | undefined;
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

  constructor() {
    link.onEvent((event) => {
      switch (event.type) {
        case "session_created":
        case "session_deleted":
        case "server_ready":
          return this.readSoon();
        case "command_started":
        case "command_finished":
          if (CHANGES.includes(event.data.commandType)) {
            this.readSoon();
          }
          return;
        default:
          return;
      }
    });
  }

  find(text: string): void {
    this.search = text;
    this.pages = 1;
    this.readSoon();
  }

  async more(): Promise<void> {
    this.pages += 1;
    await this.read();
  }

  readSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), PAUSE_MS);
  }

  async read(): Promise<void> {
    this.reading += 1;
    const reading = this.reading;
    const search = this.search.trim() === "" ? {} : { search: this.search.trim() };
    try {
      const [loaded, stored] = await Promise.all([
        link.client.request({ type: "list_sessions", ...search }),
        link.client.request({ type: "list_stored_sessions", ...search, limit: PAGE * this.pages }),
      ]);
      if (reading !== this.reading) {
        return;
      }
      const held = loaded.data.sessions.map(ofLoaded);
      const files = new Set(held.map((session) => session.file));
      const names = new Map(stored.data.sessions.map((session) => [session.sessionFile, session]));
      for (const session of held) {
        const file = session.file === undefined ? undefined : names.get(session.file);
        session.name ||= titleOf(file?.firstMessage ?? "");
      }
      held.sort((one, other) => other.updatedAt - one.updatedAt);
      this.all = [...held, ...stored.data.sessions.filter((session) => !files.has(session.sessionFile)).map(ofStored)];
      this.hasMore = stored.data.nextCursor !== undefined;
      this.problem = undefined;
      this.isLoaded = true;
    } catch (error) {
      this.problem = trouble(error);
    }
  }

  /** Makes a session and returns its id. */
  async create(cwd?: string): Promise<string> {
    const session = await link.client.createSession(cwd === undefined || cwd === "" ? {} : { cwd });
    this.readSoon();
    return session.id;
  }

  /** Loads one from disk, and returns the id that it has now. */
  async resume(file: string): Promise<string> {
    const session = await link.client.loadSession(file);
    this.readSoon();
    return session.id;
  }

  /** Lets the server forget it; its file stays. */
  async close(id: string): Promise<void> {
    await link.client.request({ type: "delete_session", sessionId: id });
    this.readSoon();
  }

  /** Removes its file for good. */
  async remove(session: Listed): Promise<void> {
    if (session.state !== "stored") {
      await link.client.request({ type: "delete_session", sessionId: session.id });
    }
    if (session.file !== undefined && session.state !== "lost") {
      const fileName = session.file.split(/[\\/]/).at(-1) ?? "";
      await link.client.request({ type: "delete_stored_session", sessionPath: session.file, fileName });
    }
    this.readSoon();
  }
}

const CHANGES = ["prompt", "steer", "follow_up", "abort", "set_session_name", "fork", "new_session", "switch_session_file", "load_session", "create_session", "delete_session", "delete_stored_session", "compact", "bash"];

function ofLoaded(session: ListedSession): Listed {
  return {
    id: session.sessionId,
    state: session.fileExists === false ? "lost" : session.isStreaming ? "working" : "open",
    name: session.sessionName ?? "",
    cwd: session.cwd ?? "",
    cost: session.cost,
    updatedAt: Date.parse(session.updatedAt ?? session.createdAt),
    messageCount: session.messageCount,
    file: session.sessionFile,
  };
}

function ofStored(session: ListedStoredSession): Listed {
  return {
    id: session.sessionId,
    state: session.fileExists ? "stored" : "lost",
    name: session.sessionName ?? titleOf(session.firstMessage ?? ""),
    cwd: session.cwd,
    cost: session.cost,
    updatedAt: Date.parse(session.updatedAt ?? session.createdAt),
    messageCount: session.messageCount,
    file: session.sessionFile,
  };
}

export const sessions = new Sessions();
