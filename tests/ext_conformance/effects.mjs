// What came of a step, in one form for both hosts: what was answered, and what was done to the session, by kind.
//
// Within a kind the order counts, between kinds it does not: one host tells some of it later than it was done.

import { order } from "./corpus.mjs";

// Content and messages, in whichever of their forms.
const blocks = (content) => {
  if (content === undefined || content === null) return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
};
const draft = (message) => message && { customType: message.customType ?? message.custom_type, content: blocks(message.content), display: message.display ?? false, details: message.details };

/** What a handler of the real Pi meant by what it returned and by what it did to the event. */
const MEANINGS = {
  session_before_switch: (value) => value?.cancel && { cancel: true },
  session_before_fork: (value) => value?.cancel && { cancel: true },
  session_before_compact(value) {
    if (value?.cancel) return { cancel: true };
    if (!value?.compaction) return undefined;
    const { summary, firstKeptEntryId, tokensBefore, details } = value.compaction;
    return { summary, firstKeptEntryId, tokensBefore, details };
  },
  session_before_tree(value) {
    if (value?.cancel) return { cancel: true };
    if (!value?.summary && value?.customInstructions === undefined && value?.label === undefined) return undefined;
    return { summary: value.summary?.summary, details: value.summary?.details, instructions: value.customInstructions, label: value.label };
  },
  input(value, event) {
    if (value?.action === "handled") return { action: "handled" };
    if (value?.action !== "transform") return undefined;
    return { action: "transform", text: value.text, images: (value.images ?? event.images ?? []).length };
  },
  before_agent_start: (value) => (value?.message || value?.systemPrompt !== undefined ? { message: draft(value.message), systemPrompt: value.systemPrompt } : undefined),
  tool_call: (value, event) => (value?.block ? { block: true, reason: value.reason } : { input: event.input }),
  tool_result(value) {
    if (!value || [value.content, value.details, value.isError].every((part) => part === undefined)) return undefined;
    return { content: value.content && blocks(value.content), details: value.details, isError: value.isError };
  },
  user_bash(value) {
    if (!value?.result) return undefined;
    const { output, exitCode, cancelled, truncated } = value.result;
    return { output: output ?? "", exitCode, cancelled: cancelled === true, truncated: truncated === true };
  },
  context: (value) => value?.messages && { messages: value.messages },
  message_end: (value) => value?.message && { message: value.message },
  before_provider_request: (value) => (value === undefined ? undefined : { payload: value }),
  before_provider_headers: (_, event) => ({ headers: event.headers }),
  resources_discover(value) {
    const { skillPaths = [], promptPaths = [], themePaths = [] } = value ?? {};
    return skillPaths.length + promptPaths.length + themePaths.length ? { skillPaths, promptPaths, themePaths } : undefined;
  },
  project_trust: (value) => value && { trusted: value.trusted, remember: value.remember === true },
  session_directory: (value) => value?.sessionDir && { folder: value.sessionDir },
};

/** The same of what our host read from it. */
const FAMILIES = {
  session: ({ action }) => action === "cancel" && { cancel: true },
  compaction({ action, summary, first_kept_entry_id: firstKeptEntryId, tokens_before: tokensBefore, details }) {
    if (action === "cancel") return { cancel: true };
    return action === "replace" ? { summary, firstKeptEntryId, tokensBefore, details } : undefined;
  },
  tree({ action, summary, details, instructions, label }) {
    if (action === "cancel") return { cancel: true };
    return action === "replace" ? { summary, details, instructions, label } : undefined;
  },
  input({ action, content = [] }) {
    if (action === "handled") return { action };
    if (action !== "transform") return undefined;
    return { action, text: content.find(({ type }) => type === "text")?.text, images: content.filter(({ type }) => type === "image").length };
  },
  start: ({ message, system_prompt: systemPrompt }) => (message || systemPrompt !== undefined ? { message: draft(message), systemPrompt } : undefined),
  tool_call: ({ action, reason, input }, event) => (action === "block" ? { block: true, reason } : { input: action === "transform" ? input : event.input }),
  tool_result({ action, content, details, is_error: isError }) {
    if (action !== "transform" || [content, details, isError].every((part) => part === undefined)) return undefined;
    return { content, details, isError };
  },
  bash({ action, output, exit_code: exitCode, cancelled, truncated }) {
    return action === "handled" ? { output, exitCode, cancelled, truncated } : undefined;
  },
  context: ({ action, messages }) => action === "replace" && { messages },
  message: ({ action, message }) => action === "replace" && { message },
  request: ({ action, payload }) => action === "replace" && { payload },
  resources({ skill_paths: skillPaths, prompt_paths: promptPaths, theme_paths: themePaths }) {
    return skillPaths.length + promptPaths.length + themePaths.length ? { skillPaths, promptPaths, themePaths } : undefined;
  },
  trust: ({ trusted, remember }) => ({ trusted, remember }),
  session_directory: (folder) => ({ folder }),
};

/** What Pi says where a program of its own is missing and cannot be fetched: we bring ours, so there is nothing to compare. */
const LACKS = /is not available and could not be downloaded$/;

/** A step as the real Pi tells it. */
export function theirs(step, { outcome, effects, outside }) {
  const answered = step.fire ? outcome.map?.((one) => ("error" in one ? { error: one.error } : meaning(MEANINGS[step.fire], one.value, one.event))) ?? outcome : outcome;
  if (LACKS.test(answered?.error)) return { answer: answered, effects: {}, lacking: true };
  return { answer: answerOf(step, answered), effects: grouped(effects.map(({ kind, value }) => [kind, THEIRS[kind]?.(value) ?? value])), outside: outside || undefined };
}

/** A step as `pi ext rehearse` tells it. */
export function ours(step, { outcome, actions }) {
  const answered = step.fire ? outcome.map?.((one) => ("error" in one ? { error: one.error } : own(step, one))) ?? outcome : outcome;
  const effects = actions.flatMap((action) => OURS[action.action](action));
  return { answer: answerOf(step, answered), effects: grouped(effects.filter(([kind, value]) => isTheirDoing(step, kind, value))) };
}

/** What the host itself tells a person is not the extension's doing; and what is shown to nobody is nothing. */
function isTheirDoing({ person }, kind, value) {
  if (kind === "notify" && /^Extension \S+ wanted .* and may not /.test(value.message)) return false;
  return person !== undefined || !SHOWN.has(kind);
}

function meaning(read, value, event) {
  return read?.(value ?? undefined, event) || null;
}

function own({ fire, event }, { family, outcome }) {
  // Nothing to say to a guard: the call goes on as it was.
  if (family === "notice" && fire === "tool_call") return { input: event.input };
  // Headers are told as changes; what is compared is what they are in the end.
  if (family === "headers") {
    const headers = { ...event.headers };
    for (const { action, name, value } of outcome) {
      if (action === "set") headers[name] = value;
      else delete headers[name];
    }
    return { headers };
  }
  return meaning(FAMILIES[family], outcome ?? undefined, event);
}

function answerOf(step, answered) {
  if (step.tool && answered && "content" in answered) {
    const { content, details, isError, terminate } = answered;
    return { content: blocks(content), details: withoutPatch(details), isError, terminate };
  }
  return answered;
}

/** Only the newer of the two hosts gives the change that `edit` made as a patch, beside the difference. */
function withoutPatch(details) {
  if (typeof details?.diff !== "string" || typeof details.patch !== "string") return details;
  const { patch, ...rest } = details;
  return rest;
}

const DELIVERY = { steer: "steer", follow_up: "followUp", next_turn: "nextTurn" };
const messages = (list) => list.map(({ role, content }) => ({ role, text: blocks(content).map(({ text }) => text ?? "").join("\n") }));

/** What is told on the bus, with a context as its plain members: the rest of it is the host's own objects, alive. */
function told({ channel, data }) {
  if (typeof data?.ctx !== "object" || data.ctx === null) return { channel, data };
  const { cwd, hasUI, mode } = data.ctx;
  return { channel, data: { ...data, ctx: { cwd, hasUI, mode } } };
}

const THEIRS = {
  emit: told,
  message: ({ message, deliverAs, triggerTurn }) => ({ ...draft(message), delivery: deliverAs ?? "steer", triggerTurn }),
  say: ({ content, deliverAs }) => ({ content: blocks(content), delivery: deliverAs ?? "followUp" }),
  complete: ({ systemPrompt, messages: list }) => ({ systemPrompt, messages: messages(list) }),
  notify: ({ message, type }) => ({ message: String(message), type: type === "success" ? "info" : type }),
  status: ({ key, text }) => ({ key, text: text === undefined || text === null ? null : String(text) }),
  widget: ({ key, content, placement }) => ({ key, content: content ?? null, placement }),
  editorText: (text) => String(text),
};

const ANNOUNCED = {
  notify: ({ message, notifyType }) => ["notify", { message, type: notifyType ?? "info" }],
  setStatus: ({ key, text }) => ["status", { key, text: text ?? null }],
  setWidget: ({ key, content, placement }) => ["widget", { key, content: content ?? null, placement: placement ?? "aboveEditor" }],
  setTitle: ({ title }) => ["title", title],
  setWorkingMessage: ({ message }) => ["working", message ?? null],
  setEditorText: ({ text }) => ["editorText", text],
};

const OURS = {
  append_entry: ({ customType, data }) => [["append", { customType, data }]],
  send_message: ({ message, delivery, triggerTurn }) => [["message", { ...draft(message), delivery: DELIVERY[delivery], triggerTurn }]],
  send_user_message: ({ content, delivery }) => [["say", { content, delivery: DELIVERY[delivery] }]],
  set_session_name: ({ name }) => [["name", name]],
  set_label: ({ entryId, label }) => [["label", { entryId, label }]],
  set_active_tools: ({ names }) => [["tools", names]],
  set_model: ({ provider, model }) => [["model", { provider, id: model }]],
  set_thinking_level: ({ level }) => [["thinking", level]],
  abort: () => [["abort", true]],
  shutdown: () => [["shutdown", true]],
  compact: ({ instructions }) => [["compact", { instructions }]],
  complete: ({ systemPrompt, messages: list }) => [["complete", { systemPrompt, messages: messages(list) }]],
  ask: ({ question }) => [["ask", question]],
  announce: ({ announcement }) => [ANNOUNCED[announcement.method](announcement)],
  draw: ({ drawing }) => [["draw", drawing]],
  emit: (action) => [["emit", told(action)]],
  control: ({ control }) => [["control", control]],
};

/** Effects that need somebody who sees them. */
const SHOWN = new Set(["notify", "status", "widget", "title", "working", "editorText", "draw", "ask"]);

/** A frame of a spinner: how many of them there are is a matter of time. */
const isFrame = (kind, value) => /^(title|status|working|widget)$/.test(kind) && /[\u2800-\u28ff]/.test(JSON.stringify(value));

function grouped(pairs) {
  const groups = {};
  for (const [kind, value] of pairs) if (!isFrame(kind, value)) (groups[kind] ??= []).push(value);
  return Object.fromEntries(Object.entries(groups).sort(([a], [b]) => order(a, b)));
}
