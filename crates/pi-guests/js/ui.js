// `ctx.ui`: questions to whoever is there, and what is shown to them.
import host from "pi:host";
import { tellOnce } from "pi:shim/assumed";

// Loaded when somebody draws.
const theme = () => host.load("pi:api/theme").theme;

/** A token that is cancelled with the signal. */
export function cancellation(signal) {
  if (signal === undefined || signal === null) return undefined;
  const token = host.cancelToken();
  if (signal.aborted) host.immediate(() => token.cancel());
  else signal.addEventListener?.("abort", () => token.cancel(), { once: true });
  return token;
}

// What is shown is shown in the order in which it was said, and a question after what was said before it: calls of the host run
// beside each other.
let told = Promise.resolve();
let waiting = 0;
const next = async (before, params) => {
  await before;
  try {
    await host.call("ui", params);
  } catch {
    // What cannot be shown is recorded where it was refused.
  }
  waiting--;
};
const tell = (params) => {
  waiting++;
  told = next(told, params);
};

// Of more than this most is left out, and who says so much does not keep others waiting.
const MOST_AWAITED = 64;

/** A promise for that what was said so far was shown, or cannot be; nothing if there is nothing to wait for. */
export const showing = () => (waiting === 0 || waiting > MOST_AWAITED ? undefined : told);

// Nobody there, no answer in time, dismissed: all the same to the extension.
async function ask(params, options) {
  const { signal, timeout } = options ?? {};
  await told;
  if (signal?.aborted) return undefined;
  try {
    return await host.call("ui", { ...params, timeout_ms: timeout }, { cancel: cancellation(signal) });
  } catch (fault) {
    if (fault.code === "invalid_request") throw fault;
    return undefined;
  }
}

// At once, and not in its turn: whoever writes and then reads finds it there. Where nobody has an editor nothing is written.
const orNothing = (params) => {
  try {
    return host.callSync("ui", params);
  } catch {
    return undefined;
  }
};
const written = () => orNothing({ op: "get_editor_text" })?.text ?? "";
const write = (text) => void orNothing({ op: "set_editor_text", text: String(text) });

/** Tells the log, once, of something that an extension may call and that changes nothing here. */
export const withoutEffect = (name) => tellOnce(name, "has no effect here");

const inert = (name) => () => {
  withoutEffect(name);
  return () => undefined;
};

const placementOf = (options) => (options?.placement === "belowEditor" ? "below_editor" : "above_editor");
const optionText = (option) => (typeof option === "string" ? option : String(option?.label ?? option?.value ?? option));

/** Made once; what it draws belongs to whoever draws it. Not frozen, as nothing that an extension is given: it may wrap it. */
export function makeUi(native) {
  let drawn;
  const drawing = () => (drawn ??= host.load("pi:api/drawing").drawn(native, statuses));
  const statuses = new Map();
  let isExpanded = false;
  return {
    async select(title, options, given) {
      const answer = await ask({ op: "select", title: String(title), options: Array.from(options, optionText) }, given);
      return answer?.text;
    },
    async confirm(title, message, given) {
      const answer = await ask({ op: "confirm", title: String(title), message: String(message ?? "") }, given);
      return answer?.confirmed ?? false;
    },
    async input(title, placeholder, given) {
      const answer = await ask({ op: "input", title: String(title), placeholder }, given);
      return answer?.text;
    },
    async editor(title, prefill, given) {
      const answer = await ask({ op: "editor", title: String(title), prefill }, given);
      return answer?.text;
    },
    async interview({ title, questions, timeout, signal } = {}) {
      const fields = questions.map(({ id, type, label, options, required }) => ({ type, id, label, ...(type === "select" || type === "multi" ? { options: options ?? [] } : {}), required: required === true }));
      const answer = await ask({ op: "interview", title, questions: fields }, { timeout, signal });
      return answer?.responses ?? answer?.answers;
    },
    custom: (factory, options) => drawing().custom(factory, options),
    notify: (message, level = "info") => tell({ op: "notify", message: String(message), level: level === "success" ? "info" : level }),
    setStatus(key, text) {
      const [name, shown] = [String(key), text === undefined || text === null ? undefined : String(text)];
      if (shown === undefined) statuses.delete(name);
      else statuses.set(name, shown);
      tell({ op: "set_status", key: name, text: shown });
    },
    setWidget(key, content, options) {
      // What was drawn there before goes away.
      drawn?.widget(key, undefined);
      if (typeof content === "function") drawing().widget(String(key), content, placementOf(options) === "below_editor");
      else tell({ op: "set_widget", key: String(key), lines: content === undefined || content === null ? undefined : Array.from(content, String), placement: placementOf(options) });
    },
    setTitle: (title) => tell({ op: "set_title", title: String(title) }),
    setWorkingMessage: (text) => tell({ op: "set_working_message", text: text === undefined || text === null ? undefined : String(text) }),
    setEditorText: write,
    pasteToEditor: (text) => void orNothing({ op: "paste_to_editor", text: String(text) }),
    getEditorText: written,
    setFooter: (factory) => drawing().chrome("footer", factory),
    setHeader: (factory) => drawing().chrome("header", factory),
    get theme() {
      return theme();
    },
    getAllThemes: () => [{ name: theme().name, path: undefined }],
    getTheme: (name) => (name === theme().name ? theme() : undefined),
    setTheme() {
      withoutEffect("ctx.ui.setTheme");
      return { success: false, error: "themes are chosen in the settings" };
    },
    getToolsExpanded: () => isExpanded,
    setToolsExpanded(expanded) {
      withoutEffect("ctx.ui.setToolsExpanded");
      isExpanded = expanded === true;
    },
    // The client owns its editor and its keys.
    setEditorComponent: (factory) => (factory ? withoutEffect("ctx.ui.setEditorComponent") : undefined),
    getEditorComponent: () => undefined,
    addAutocompleteProvider: inert("ctx.ui.addAutocompleteProvider"),
    onTerminalInput: inert("ctx.ui.onTerminalInput"),
    setWorkingVisible: inert("ctx.ui.setWorkingVisible"),
    setWorkingIndicator: inert("ctx.ui.setWorkingIndicator"),
    setHiddenThinkingLabel: inert("ctx.ui.setHiddenThinkingLabel"),
  };
}
