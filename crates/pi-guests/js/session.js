// `ctx.sessionManager`: the conversation, to be read. Everything answers at once.
import host from "pi:host";

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
