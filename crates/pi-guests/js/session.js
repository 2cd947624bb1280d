// `ctx.sessionManager`: the conversation, to be read. Everything answers at once.
import host from "pi:host";
import { draft } from "pi:api/outcome";

const read = (op, params) => host.callSync("session", { op, ...params });
export const state = () => read("get_state");

const children = (entries, id) => entries.filter((entry) => entry.parentId === id);

// From the root to an entry.
function pathTo(entries, id) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  for (let entry = byId.get(id); entry !== undefined; entry = byId.get(entry.parentId)) path.unshift(entry);
  return path;
}

function tree(entries) {
  const labels = new Map();
  for (const entry of entries) if (entry.type === "label") labels.set(entry.targetId, entry.label);
  const nodes = new Map(entries.map((entry) => [entry.id, { entry, children: [], label: labels.get(entry.id) }]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.entry.parentId);
    (parent ? parent.children : roots).push(node);
  }
  return roots;
}

export const sessionManager = {
  getCwd: () => state().cwd,
  getSessionDir: () => state().folder ?? "",
  getSessionId: () => state().session_id,
  getSessionFile: () => state().file,
  getSessionName: () => state().name,
  getLeafId: () => state().leaf_id ?? null,
  getLeafEntry() {
    const id = state().leaf_id;
    return id === undefined ? undefined : read("get_entry", { entry_id: id }).entry;
  },
  getEntry: (id) => read("get_entry", { entry_id: String(id) }).entry,
  getLabel: (id) => read("get_label", { entry_id: String(id) }).label,
  getHeader: () => read("get_header").header ?? null,
  getEntries: () => read("get_entries", { selection: "all" }).entries,
  getBranch: (from) => (from === undefined ? read("get_entries", { selection: "branch" }).entries : pathTo(read("get_entries", { selection: "all" }).entries, from)),
  getChildren: (id) => children(read("get_entries", { selection: "all" }).entries, id),
  getTree: () => tree(read("get_entries", { selection: "all" }).entries),
  isPersisted: () => state().file !== undefined,
};

const optional = (text) => (text === undefined || text === null || text === "" ? undefined : String(text));
// What the model is shown of an extension; it begins nothing.
const show = (message) => {
  read("send_message", { ...draft(message), delivery: "steer", trigger_turn: false });
  return state().leaf_id;
};

/** For `setup` of a new session: the same, and what stands in it before anybody speaks. */
export const writableManager = {
  ...sessionManager,
  appendMessage({ role, content } = {}) {
    // Words of a model or of a tool that neither has said would be taken for theirs.
    if (role !== "user") throw new Error(`setup can add messages for the model, and none in the name of ${JSON.stringify(role)}`);
    return show({ customType: "user", content, display: true });
  },
  appendCustomMessageEntry: (customType, content, display = true, details) => show({ customType, content, display, details }),
  appendCustomEntry: (customType, data) => read("append_entry", { custom_type: String(customType), data }).entry_id,
  appendSessionInfo: (name) => void read("set_name", { name: String(name) }),
  appendLabelChange: (entryId, label) => void read("set_label", { entry_id: String(entryId), label: optional(label) }),
  appendModelChange: (provider, model) => void read("set_model", { provider: String(provider), model: String(model) }),
  appendThinkingLevelChange: (level) => void read("set_thinking_level", { level: String(level) }),
};
