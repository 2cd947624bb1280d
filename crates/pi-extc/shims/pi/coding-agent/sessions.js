// SessionManager: session files that an extension reads, and sessions in memory. The session of the conversation is
// `ctx.sessionManager`; files are not written here, because their owner is the host.
import host from "pi:host";
import { buildSessionContext, CURRENT_SESSION_VERSION, migrateSessionEntries, newId, parseSessionEntries, pathTo } from "pi:shim/pi/coding-agent/entries";

const fs = () => host.load("pi:shim/node/fs").default;
const paths = () => host.load("pi:shim/node/path");

export const getAgentDir = () => host.place.agentDir;
export const getDefaultSessionDir = (cwd, agentDir = getAgentDir()) => paths().join(agentDir, "sessions", `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);

export class SessionManager {
  #entries = [];
  #header;
  #file;
  #folder;
  #leaf = null;
  constructor({ cwd, header, entries = [], file, folder }) {
    this.#header = header ?? { type: "session", version: CURRENT_SESSION_VERSION, id: host.load("pi:shim/web/crypto").default.randomUUID(), timestamp: new Date(host.now()).toISOString(), cwd };
    this.#entries = entries;
    this.#file = file;
    this.#folder = folder;
    this.#leaf = entries.at(-1)?.id ?? null;
  }
  static inMemory(cwd = host.place.cwd) { return new SessionManager({ cwd }); }
  static create(cwd, folder) { return new SessionManager({ cwd, folder: folder ?? getDefaultSessionDir(cwd) }); }
  static open(path, folder) {
    const lines = parseSessionEntries(fs().readFileSync(path, "utf8"));
    migrateSessionEntries(lines);
    const [header, ...entries] = lines[0]?.type === "session" ? lines : [undefined, ...lines];
    return new SessionManager({ cwd: header?.cwd ?? host.place.cwd, header, entries, file: path, folder: folder ?? paths().dirname(path) });
  }
  static continueRecent(cwd, folder = getDefaultSessionDir(cwd)) {
    const recent = filesIn(folder).at(0);
    return recent ? SessionManager.open(recent, folder) : SessionManager.create(cwd, folder);
  }
  static async list(cwd, folder = getDefaultSessionDir(cwd)) { return filesIn(folder).map(infoOf).filter(Boolean).sort(newestFirst); }
  static async listAll() {
    const root = paths().join(getAgentDir(), "sessions");
    const folders = fs().existsSync(root) ? fs().readdirSync(root) : [];
    return folders.flatMap((name) => filesIn(paths().join(root, name)).map(infoOf)).filter(Boolean).sort(newestFirst);
  }

  isPersisted() { return this.#file !== undefined; }
  getCwd() { return this.#header.cwd; }
  getSessionDir() { return this.#folder; }
  getSessionId() { return this.#header.id; }
  getSessionFile() { return this.#file; }
  getHeader() { return this.#header; }
  getEntries() { return [...this.#entries]; }
  getLeafId() { return this.#leaf; }
  getLeafEntry() { return this.getEntry(this.#leaf); }
  getEntry(id) { return this.#entries.find((entry) => entry.id === id); }
  getChildren(id) { return this.#entries.filter((entry) => entry.parentId === id); }
  getBranch(from = this.#leaf) { return from ? pathTo(this.#entries, from) : []; }
  getLabel(id) { return this.#entries.findLast((entry) => entry.type === "label" && entry.targetId === id)?.label; }
  getSessionName() { return this.#entries.findLast((entry) => entry.type === "session_info")?.name?.trim() || undefined; }
  buildSessionContext() { return buildSessionContext(this.#entries, this.#leaf); }
  getTree() {
    const node = (entry) => ({ entry, children: this.getChildren(entry.id).map(node), ...(this.getLabel(entry.id) && { label: this.getLabel(entry.id) }) });
    return this.#entries.filter((entry) => !entry.parentId).map(node);
  }
  branch(id) { this.#leaf = id; }
  resetLeaf() { this.#leaf = null; }

  #append(entry) {
    if (this.#file) throw Object.assign(new Error("a session file cannot be changed by an extension; use pi.appendEntry and ctx for the session of the conversation"), { code: "ERR_NOT_AVAILABLE" });
    const made = { ...entry, id: newId(this.#entries.map((own) => own.id)), parentId: this.#leaf, timestamp: new Date(host.now()).toISOString() };
    this.#entries.push(made);
    this.#leaf = made.id;
    return made.id;
  }
  appendMessage(message) { return this.#append({ type: "message", message }); }
  appendThinkingLevelChange(thinkingLevel) { return this.#append({ type: "thinking_level_change", thinkingLevel }); }
  appendModelChange(provider, modelId) { return this.#append({ type: "model_change", provider, modelId }); }
  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook) { return this.#append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, fromHook }); }
  appendCustomEntry(customType, data) { return this.#append({ type: "custom", customType, data }); }
  appendCustomMessageEntry(customType, content, display, details) { return this.#append({ type: "custom_message", customType, content, display, details }); }
  appendSessionInfo(name) { return this.#append({ type: "session_info", name: name.trim() }); }
  appendLabelChange(targetId, label) { return this.#append({ type: "label", targetId, label }); }
}

const newestFirst = (one, other) => other.modified.getTime() - one.modified.getTime();

function filesIn(folder) {
  if (!folder || !fs().existsSync(folder)) return [];
  return fs().readdirSync(folder).filter((name) => name.endsWith(".jsonl")).map((name) => paths().join(folder, name)).sort((one, other) => fs().statSync(other).mtimeMs - fs().statSync(one).mtimeMs);
}

const words = (message) => (typeof message.content === "string" ? message.content : (message.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join(" "));

function infoOf(path) {
  const [header, ...entries] = parseSessionEntries(fs().readFileSync(path, "utf8"));
  if (header?.type !== "session") return undefined;
  const messages = entries.filter((entry) => entry.type === "message");
  const said = messages.filter(({ message }) => message.role === "user" || message.role === "assistant");
  const first = said.find(({ message }) => message.role === "user");
  const stats = fs().statSync(path);
  const name = entries.findLast((entry) => entry.type === "session_info")?.name?.trim();
  return {
    path, id: header.id, cwd: header.cwd ?? "", ...(name && { name }), ...(header.parentSession && { parentSessionPath: header.parentSession }), created: new Date(header.timestamp),
    modified: said.length > 0 ? new Date(said.at(-1).message.timestamp ?? said.at(-1).timestamp) : stats.mtime, messageCount: messages.length, firstMessage: first ? words(first.message) : "(no messages)",
    allMessagesText: said.map(({ message }) => words(message)).join(" "),
  };
}
