// What a handler returned, in the form of the protocol: one small function for each family of events.
import { withoutEffect } from "pi:api/ui";

const nothing = { family: "notice" };
const text = (value) => ({ type: "text", text: String(value) });

/** Content as the protocol has it: texts and images. */
export function blocks(content) {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [text(content)];
  return Array.from(content, (block) => {
    if (typeof block === "string") return text(block);
    if (block?.type === "image") return { type: "image", data: block.data ?? block.source?.data ?? "", mimeType: block.mimeType ?? block.source?.mediaType ?? "image/png" };
    return text(block?.text ?? "");
  });
}

/** A message of the extension's own type. Text stays text: whoever draws or reads the message finds what was given. */
export function draft({ customType, content, display, details }) {
  const said = typeof content === "string" ? content : blocks(content);
  return { custom_type: customType === undefined || customType === null ? "" : String(customType), content: said, display: display ?? false, details };
}

// Texts are not copied, so this costs little beside the way into the engine; what is the same need not go back.
const isObject = (value) => value !== null && typeof value === "object";
const copyOf = (value) => (!isObject(value) ? value : Array.isArray(value) ? value.map(copyOf) : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)])));
function isAs(value, copy) {
  if (!isObject(value) || !isObject(copy)) return value === copy;
  const names = Object.keys(copy);
  return Array.isArray(value) === Array.isArray(copy) && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name) && isAs(value[name], copy[name]));
}
const kept = (it) => ({ it, was: copyOf(it) });

const paths = (given) => (given === undefined || given === null ? [] : typeof given === "string" ? [given] : Array.from(given, String));

const families = {
  session(result) {
    // Pi keeps the name for later, and does nothing with it.
    if (result?.skipConversationRestore !== undefined) withoutEffect("skipConversationRestore");
    return result?.cancel ? { action: "cancel" } : { action: "continue" };
  },
  compaction(result) {
    if (result?.cancel) return { action: "cancel" };
    if (!result?.compaction) return { action: "continue" };
    const { summary, firstKeptEntryId, tokensBefore, details } = result.compaction;
    return { action: "replace", summary, first_kept_entry_id: firstKeptEntryId, tokens_before: tokensBefore, details };
  },
  tree(result) {
    if (result?.cancel) return { action: "cancel" };
    const { summary, customInstructions: instructions, replaceInstructions, label } = result ?? {};
    if ([summary, instructions, replaceInstructions, label].every((given) => given === undefined)) return { action: "continue" };
    return { action: "replace", summary: summary?.summary, details: summary?.details, instructions, replace_instructions: replaceInstructions, label };
  },
  input(result, event) {
    if (result?.action === "handled") return { action: "handled" };
    if (result?.action !== "transform") return { action: "continue" };
    const images = result.images ?? event.images ?? [];
    return { action: "transform", content: [text(result.text ?? event.text), ...blocks(images)] };
  },
  start(result) {
    const message = result?.message === undefined ? undefined : draft(result.message);
    return { message, system_prompt: result?.systemPrompt };
  },
  turn: (result) => ({ entries: result?.entries ?? [], resume: result?.continue }),
  message: (result) => (result?.message === undefined ? { action: "continue" } : { action: "replace", message: result.message }),
  tool_call(result, event) {
    if (result?.block) return { action: "block", reason: result.reason, terminate: result.terminate === true };
    return { action: "transform", input: event.input };
  },
  tool_result(result, _, before) {
    const { content = before.it.content, details = before.it.details, isError } = result ?? {};
    const isGiven = [result?.content, result?.details, isError].some((given) => given !== undefined);
    if (!isGiven && isAs({ content, details }, before.was)) return { action: "continue" };
    return { action: "transform", content: content === undefined ? undefined : blocks(content), details, is_error: isError };
  },
  bash(result) {
    if (!result?.result) return { action: "continue" };
    const { output, exitCode, cancelled, truncated, fullOutputPath } = result.result;
    return { action: "handled", output: output ?? "", exit_code: exitCode ?? undefined, cancelled: cancelled === true, truncated: truncated === true, full_output_path: fullOutputPath };
  },
  context(result, _, before) {
    const messages = result?.messages ?? before.it;
    return !result?.messages && isAs(messages, before.was) ? { action: "continue" } : { action: "replace", messages };
  },
  request(result, _, before) {
    const payload = result === undefined ? before.it : result;
    return result === undefined && isAs(payload, before.was) ? { action: "continue" } : { action: "replace", payload };
  },
  // Handlers change the headers in place, and some return them.
  headers(result, event, before) {
    const after = result?.headers ?? event.headers;
    const changes = [];
    for (const name of Object.keys(before)) if (after[name] === null || after[name] === undefined) changes.push({ action: "remove", name });
    for (const [name, value] of Object.entries(after)) {
      if (value !== null && value !== undefined && before[name] !== value) changes.push({ action: "set", name, value: String(value) });
    }
    return changes;
  },
  resources: ({ skillPaths, promptPaths, themePaths }) => ({ skill_paths: paths(skillPaths), prompt_paths: paths(promptPaths), theme_paths: paths(themePaths) }),
  trust: (result) => ({ trusted: result?.trusted === "yes" || result?.trusted === "no" ? result.trusted : "undecided", remember: result?.remember === true }),
  session_directory: (result) => (typeof result?.sessionDir === "string" ? result.sessionDir : undefined),
  warming: (result) => (result?.action === "warm" || result?.action === "stop" ? { action: result.action } : undefined),
};

const FAMILY = {
  session_directory: "session_directory", project_trust: "trust", resources_discover: "resources", session_before_switch: "session",
  session_before_fork: "session", session_before_compact: "compaction", session_before_tree: "tree", input: "input",
  before_agent_start: "start", agent_before_settle: "turn", turn_end: "turn", message_end: "message", tool_call: "tool_call",
  tool_result: "tool_result", user_bash: "bash", context: "context", context_with_system: "context",
  before_provider_request: "request", before_provider_headers: "headers", cache_warming_decision: "warming",
};

// What is changed in place counts also where nothing is returned, and there what is the same is no change.
const IN_PLACE = new Set(["tool_call", "headers", "tool_result", "context", "request"]);

/** What handlers of an event may change in place, from before they are called. As in Pi it is not what they put in its place. */
export function before(hook, event) {
  const family = FAMILY[hook];
  if (family === "headers") return { ...event.headers };
  if (family === "tool_result") return kept({ content: event.content, details: event.details });
  if (family === "context") return kept(event.messages);
  return family === "request" ? kept(event.payload) : undefined;
}

/** The outcome of an event, with what `before` told of it. */
export function outcomeOf(hook, result, event, before) {
  const family = FAMILY[hook];
  if (family === undefined) return nothing;
  if (!IN_PLACE.has(family) && (result === undefined || result === null)) return nothing;
  const outcome = families[family](result, event, before);
  return outcome === undefined ? nothing : { family, outcome };
}
