// The built-in tools for extensions that wrap them: the host's own, or, where an extension brings its own way to files and
// processes (`operations`), the same work done here over that.
import host from "pi:host";
import { DEFINITIONS, NEWER } from "pi:shim/pi/coding-agent/definitions";
import { bashOver, editOver, lsOver, readOver, writeOver } from "pi:shim/pi/coding-agent/operations";

/** Paths are meant from the folder of the tool, which need not be the host's. */
const place = (folder, path) => {
  const clean = path.replace(/^@/, "").replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ").replace(/^~(?=\/|$)/, host.place.homeDir);
  return host.load("pi:shim/node/path").resolve(folder, clean);
};

async function byHost(name, input, folder, signal) {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined && value !== null));
  if (name !== "bash" && folder !== host.place.cwd) given.path = place(folder, given.path ?? ".");
  const cancel = host.cancelToken();
  const onAbort = () => cancel.cancel();
  if (signal?.aborted) throw new Error("Operation aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const { content, details, is_error: isError } = await host.call("tool", { name, input: given }, { cancel });
    if (isError) throw new Error(wording(name, input, folder, content.map((block) => block.text ?? "").join("\n")));
    // Ours tells what it changed; Pi's has no details, and extensions that wrap it hand on what it has.
    return { content, details: name === "write" ? undefined : details };
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** What Pi's own tools say of a file that is not there, or not a folder: extensions look for these words. */
function wording(name, { path = "." }, folder, message) {
  if (name === "ls" && message.endsWith(" is not a folder")) return `Not a directory: ${place(folder, path)}`;
  if (name === "bash" || !/^(File|Folder) not found: /.test(message)) return message;
  if (name === "edit") return `Could not edit file: ${path}. Error code: ENOENT.`;
  return name === "read" ? `ENOENT: no such file or directory, access '${place(folder, path)}'` : `Path not found: ${place(folder, path)}`;
}

/** Old callers of `edit` give one pair, or the list as text. */
function prepareEdit(given) {
  if (given === null || typeof given !== "object") return given;
  const { oldText, newText, edits, ...rest } = given;
  let list = edits;
  if (typeof list === "string") {
    try {
      list = JSON.parse(list);
    } catch {
      return given;
    }
  }
  if (typeof oldText === "string" && typeof newText === "string") return { ...rest, edits: [...(Array.isArray(list) ? list : []), { oldText, newText }] };
  return list === undefined ? given : { ...rest, edits: list };
}

const OVER = { bash: bashOver, read: readOver, write: writeOver, edit: editOver, ls: lsOver };

function execute(name, folder, options = {}) {
  // A hook, a prefix, another shell or another folder change what is run, so it is run here.
  const isOwn = options.operations || (name === "bash" && (options.spawnHook || options.commandPrefix || options.shellPath || folder !== host.place.cwd));
  return async (id, input, signal, onUpdate) => {
    if (isOwn && OVER[name]) return OVER[name](folder, options, { ...input, ...(input.path !== undefined && { path: place(folder, input.path) }) }, signal, onUpdate);
    return byHost(name, input, folder, signal);
  };
}

/** The newer of the two packages does not count what it wrote. */
const uncounted = (run) => async (...args) => {
  const { content: [{ text, ...first }, ...rest], ...result } = await run(...args);
  return { ...result, content: [{ ...first, text: text.replace(/^(Successfully wrote )\d+ bytes /, "$1") }, ...rest] };
};
const performed = (name, definitions, folder, options) => {
  const run = execute(name, folder, options);
  return name === "write" && definitions === NEWER ? uncounted(run) : run;
};

const maker = (name, definitions = DEFINITIONS) => (folder, options) => {
  const { promptSnippet, promptGuidelines, ...definition } = definitions[name];
  return { ...definition, prepareArguments: name === "edit" ? prepareEdit : undefined, executionMode: undefined, execute: performed(name, definitions, folder, options) };
};
const definer = (name, definitions = DEFINITIONS) => (folder, options) => {
  const { Text } = host.load("pi:shim/pi/tui/parts");
  const { renderCall, renderResult } = host.load("pi:shim/pi/coding-agent/components");
  return {
    ...definitions[name], ...(name === "edit" && { prepareArguments: prepareEdit }), execute: performed(name, definitions, folder, options),
    renderCall: (args, theme) => new Text(renderCall(name, args, theme), 0, 0), renderResult: (result, view, theme) => new Text(renderResult(result, view, theme), 0, 0),
  };
};

export const createBashTool = maker("bash");
export const createReadTool = maker("read");
export const createWriteTool = maker("write");
export const createEditTool = maker("edit");
export const createGrepTool = maker("grep");
export const createFindTool = maker("find");
export const createLsTool = maker("ls");
export const createBashToolDefinition = definer("bash");
export const createReadToolDefinition = definer("read");
export const createWriteToolDefinition = definer("write");
export const createEditToolDefinition = definer("edit");
export const createGrepToolDefinition = definer("grep");
export const createFindToolDefinition = definer("find");
export const createLsToolDefinition = definer("ls");
export const createCodingTools = (folder, options) => [createReadTool(folder, options?.read), createBashTool(folder, options?.bash), createEditTool(folder, options?.edit), createWriteTool(folder, options?.write)];
export const createReadOnlyTools = (folder, options) => [createReadTool(folder, options?.read), createGrepTool(folder, options?.grep), createFindTool(folder, options?.find), createLsTool(folder, options?.ls)];

/** What the package of the newer scope has otherwise. */
export const newer = {
  createEditTool: maker("edit", NEWER), createEditToolDefinition: definer("edit", NEWER), createWriteTool: maker("write", NEWER), createWriteToolDefinition: definer("write", NEWER),
  createCodingTools: (folder, options) => [createReadTool(folder, options?.read), createBashTool(folder, options?.bash), newer.createEditTool(folder, options?.edit), newer.createWriteTool(folder, options?.write)],
};

/** Makes the types of a definition known; at run time it is the definition. */
export const defineTool = (definition) => definition;

const queues = new Map();
/** Changes of one file one after another, whoever makes them. */
export async function withFileMutationQueue(path, change) {
  const key = place(host.place.cwd, path);
  const before = queues.get(key) ?? Promise.resolve();
  const own = before.then(() => change());
  const settled = own.catch(() => {});
  queues.set(key, settled);
  try {
    return await own;
  } finally {
    if (queues.get(key) === settled) queues.delete(key);
  }
}
