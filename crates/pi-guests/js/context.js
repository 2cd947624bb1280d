// `ctx`: what a handler, a tool or a command is given beside its event.
import host from "pi:host";
import { cancellation, withoutEffect } from "pi:api/ui";

const orNothing = (method, params) => {
  try {
    return host.callSync(method, params);
  } catch {
    return undefined;
  }
};

const MODE = { terminal: "tui", server: "rpc", json: "json", print: "print" };

// Loaded when somebody asks.
const conversation = () => host.load("pi:api/session");

// How a member stands in a context: as it is, read by a function, or read by one and not copied.
const [VALUE, READ, HIDDEN] = [0, 1, 2];

/** Makes contexts, with `made`. `check` throws once the extension is not the session's any more; `say` speaks in the session. */
export function contexts({ made, check, ui, signalOf, say }) {
  const session = (op, params) => {
    check();
    return host.callSync("session", { op, ...params });
  };
  const later = async (op, params, options) => {
    check();
    return host.call("session", { op, ...params }, options);
  };
  const accepted = async (op, params) => ({ cancelled: (await later(op, params)).accepted === false });
  const now = () => {
    check();
    return conversation().state();
  };

  const common = {
    get ui() {
      check();
      return ui;
    },
    get hasUI() {
      return now().has_ui;
    },
    get mode() {
      return MODE[now().mode];
    },
    get cwd() {
      return host.place.cwd;
    },
    get sessionManager() {
      check();
      return conversation().sessionManager;
    },
    get modelRegistry() {
      check();
      return host.load("pi:api/model").modelRegistry;
    },
    get model() {
      const { model_info, model } = now();
      return model_info ?? (model && { id: model.model, provider: model.provider, name: model.model });
    },
    get thinkingLevel() {
      return now().thinking_level;
    },
    get scopedModels() {
      check();
      // Copies of a context read it too: what may not be known is as if nothing were chosen.
      const scoped = orNothing("session", { op: "get_scoped_models" })?.models ?? [];
      return scoped.map(({ info: model, thinking_level }) => (thinking_level === undefined ? { model } : { model, thinkingLevel: thinking_level }));
    },
    isIdle: () => now().is_idle,
    hasPendingMessages: () => now().has_pending_messages,
    isProjectTrusted: () => now().is_project_trusted,
    abort: () => void session("abort"),
    shutdown: () => void session("quit"),
    getSystemPrompt: () => session("get_system_prompt").text,
    getContextUsage() {
      const usage = now().context_usage;
      if (usage === undefined) return undefined;
      const { tokens = null, context_window: contextWindow } = usage;
      return { tokens, contextWindow, percent: tokens === null ? null : (tokens / contextWindow) * 100 };
    },
    compact({ customInstructions, onComplete, onError } = {}) {
      later("compact", { instructions: customInstructions }).then(({ result }) => onComplete?.(result), (fault) => onError?.(fault));
    },
    get tools() {
      return session("get_tools").tools.map(({ is_active: isActive, ...tool }) => ({ ...tool, isActive }));
    },
    async executeTool(name, args, { signal, onUpdate } = {}) {
      check();
      if (typeof onUpdate === "function") withoutEffect("onUpdate of ctx.executeTool");
      const { is_error: isError, ...result } = await host.call("tool", { name: String(name), input: args ?? {} }, { cancel: cancellation(signal) });
      return { ...result, isError };
    },
  };

  // What is to be done in the session that takes the place of this one, unless somebody objects to it.
  const replaced = async (result, withSession, setup) => {
    const { cancelled } = await result;
    if (!cancelled && typeof setup === "function") await setup(conversation().writableManager);
    if (!cancelled && typeof withSession === "function") await withSession(made([...command, ...parts(say())]));
    return { cancelled };
  };
  const control = {
    waitForIdle: async () => void (await later("wait_for_idle")),
    newSession: ({ parentSession, setup, withSession } = {}) => replaced(accepted("new_session", { parent: parentSession }), withSession, setup),
    fork: (entryId, { position = "before", withSession } = {}) => replaced(accepted("fork", { entry_id: String(entryId), position }), withSession),
    navigateTree: (entryId, { summarize = false, customInstructions, replaceInstructions = false, label } = {}) =>
      accepted("navigate_tree", { entry_id: String(entryId), summarize, instructions: customInstructions, replace_instructions: replaceInstructions, label }),
    switchSession: (path, { withSession } = {}) => replaced(accepted("switch_session", { path: String(path) }), withSession),
    reload: () => accepted("reload"),
  };

  // Each a plain object of its own with members of its own, as in Pi: extensions copy it (`{ ...ctx, cwd }`) and change the copy.
  // Made for every call, so the engine makes it: of names, how each stands there, and what.
  const parts = (source, hidden) =>
    Object.entries(Object.getOwnPropertyDescriptors(source)).flatMap(([name, { get, value }]) =>
      get === undefined ? [name, VALUE, value] : [name, name === hidden ? HIDDEN : READ, get],
    );
  // Reading the tools asks the host for every schema, which a copy need not.
  const event = parts(common, "tools");
  const command = [...event, ...parts(control)];
  const withSignal = (members, job) => made(members, () => signalOf(job));
  return {
    event: (job) => withSignal(event, job),
    // What those before it made of the system prompt is not the session's yet.
    start: (job, prompt) => withSignal([...event, ...parts({ getSystemPrompt: () => (check(), prompt) })], job),
    command: (job) => withSignal(command, job),
  };
}
