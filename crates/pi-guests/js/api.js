// The Pi API: what an extension registers and how it is called.
import host, { after, describe, request } from "pi:host";
import { contexts } from "pi:api/context";
import { assumed } from "pi:shim/assumed";
import { install } from "pi:shim/globals";
import { accessOf, canStream, describedBy, owned as providers } from "pi:shim/pi/ai/own";
import { cancellation, makeUi, showing, withoutEffect } from "pi:api/ui";

// Loaded when something of them is needed: most extensions neither draw nor read their conversation.
const part = (name) => host.load(`pi:api/${name}`);
const blocks = (content) => part("outcome").blocks(content);
const outcomeOf = (...given) => part("outcome").outcomeOf(...given);
const state = () => part("session").state();

// Other names of the same events, as other hosts and the wire have them.
const ALIASES = { startup: "session_start", thinking_level_changed: "thinking_level_select" };
const CONFIG_WITHHELD = new Set(["apiKey", "headers", "authHeader", "oauth"]);
// Calls of tools of which renderers keep something.
const MOST_KEPT = 64;
// Registrations that are told as unusable.
const MOST_UNUSABLE = 32;
// Where a handler is missing nothing is let through: it was to judge.
const GUARDS = new Set(["tool_call", "user_bash"]);
const DELIVERY = { steer: "steer", followUp: "follow_up", nextTurn: "next_turn" };

const isThenable = (value) => value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function";
const entriesOf = (map) => [...map.values()];
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const worded = (value) => (value === undefined || value === null ? undefined : String(value));
const quoted = (name) => JSON.stringify(String(name).slice(0, 80));

/** What the engine calls. `flags` are the values that somebody gave to flags. */
export function make(native, flags) {
  install();
  const handlers = new Map(); // by the name that was asked for
  const hooks = new Map(); // by the name of the event
  const [tools, commands, shortcuts, declared, renderers, entryRenderers, channels] = Array.from({ length: 7 }, () => new Map());
  const controllers = new Map();
  let phase = "loading";

  const changed = () => {
    if (phase === "ready") native.changed();
  };
  const check = () => {
    if (phase === "stale") throw new Error("this extension was replaced: its session was left or its extensions were loaded anew; use what the new start gives instead of what was kept");
  };
  // What there is to be called, and nothing comes of it.
  const inert = (name) => () => {
    check();
    withoutEffect(name);
  };
  const acting = () => {
    check();
    if (phase === "loading") throw new Error("not while the extension loads: its session has not begun; do this in a handler of session_start, a command or a tool");
  };
  // What is registered and is not what it should be costs itself, and the host says so.
  const unusable = [];
  const refuse = (what, why) => {
    if (unusable.length < MOST_UNUSABLE) unusable.push({ what, why });
    changed();
  };
  const session = (op, params) => {
    acting();
    return host.callSync("session", { op, ...params });
  };

  let AbortController;
  const signalOf = (job) => {
    let controller = controllers.get(job);
    if (controller === undefined) {
      AbortController ??= host.load("pi:shim/web/abort").AbortController;
      controller = new AbortController();
      if (native.isOpen(job)) controllers.set(job, controller);
    }
    return controller.signal;
  };
  const ui = makeUi(native);
  const context = contexts({ made: native.made, check, ui, signalOf, say: () => ({ sendMessage: async (...args) => pi.sendMessage(...args), sendUserMessage: async (...args) => pi.sendUserMessage(...args) }) });

  // Does something for the engine and answers it, now or when the promise is settled. What was shown to people before comes
  // before the answer: whoever waits for that may leave afterwards. `told` makes the answer of the result.
  const run = (job, work, told = (result) => result) => {
    // Makes nothing where nothing was shown: there may be no memory left.
    const end = (tell, answer) => {
      controllers.delete(job);
      const shown = showing();
      if (shown === undefined) tell(job, answer);
      else after(shown, () => tell(job, answer));
    };
    const failed = (thrown) => end(native.failed, describe(thrown));
    const done = (result) => {
      let answer;
      try {
        answer = told(result);
      } catch (thrown) {
        return failed(thrown);
      }
      end(native.done, answer);
    };
    let result;
    try {
      result = work();
    } catch (thrown) {
      return failed(thrown);
    }
    if (isThenable(result)) after(Promise.resolve(result), done, failed);
    else done(result);
  };

  const listener = (map, key, entry) => {
    if (!map.has(key)) map.set(key, []);
    map.get(key).push(entry);
    return () => {
      const list = map.get(key);
      const index = list.indexOf(entry);
      if (index >= 0) list.splice(index, 1);
    };
  };

  // What is said on the bus is heard by the extension itself at once and as it is, functions included, as in Pi; others hear a
  // copy through the host, in the order in which it was said. What comes back of one's own words was heard.
  let said = Promise.resolve();
  const echoes = [];
  const hear = (channel, data) => {
    for (const fn of [...(channels.get(channel) ?? [])]) {
      try {
        const result = fn(data);
        if (isThenable(result)) after(Promise.resolve(result), undefined, (thrown) => native.uncaught(describe(thrown)));
      } catch (thrown) {
        native.uncaught(describe(thrown));
      }
    }
  };
  // Members in the order of their names: the host keeps no other.
  const sorted = (_, value) => (value === null || typeof value !== "object" || Array.isArray(value) ? value : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))));
  const copied = (data) => {
    try {
      return JSON.stringify(data, sorted) ?? "null";
    } catch {
      return undefined;
    }
  };
  const isEcho = (words) => {
    const index = echoes.indexOf(words);
    if (index >= 0) echoes.splice(index, 1);
    return index >= 0;
  };
  const tellNext = async (before, params, failed) => {
    await before;
    try {
      await host.call("events", params);
    } catch (fault) {
      failed(fault);
    }
  };
  const events = {
    on(channel, fn) {
      check();
      const off = listener(channels, String(channel), fn);
      changed();
      return () => {
        off();
        changed();
      };
    },
    emit(channel, data) {
      check();
      const [name, copy] = [String(channel), copied(data)];
      const isHeard = (channels.get(name) ?? []).length > 0;
      if (copy !== undefined) {
        const words = `${name}\0${copy}`;
        if (isHeard) echoes.push(words);
        const failed = (fault) => {
          isEcho(words);
          native.uncaught(describe(fault));
        };
        said = tellNext(said, { op: "emit", channel: name, data: JSON.parse(copy) }, failed);
      }
      hear(name, data);
    },
  };

  const decode = (data) => (typeof data === "string" ? data : host.utf8Decode(data, false));
  const delivery = (given, usual) => DELIVERY[given] ?? usual;
  const settings = Object.freeze({});

  const pi = {
    on(event, fn) {
      check();
      const entry = { name: String(event), fn };
      if (typeof fn !== "function") {
        const problem = "a handler is a function: pi.on(name, (event, ctx) => …)";
        refuse(`a handler of ${quoted(event)}`, problem);
        if (!GUARDS.has(entry.name)) return () => undefined;
        entry.fn = () => {
          throw new TypeError(problem);
        };
      }
      const offs = [listener(handlers, entry.name, entry), listener(hooks, ALIASES[entry.name] ?? entry.name, entry)];
      changed();
      return () => {
        offs.forEach((off) => off());
        changed();
      };
    },
    registerTool(tool) {
      check();
      if (typeof tool?.name !== "string" || tool.name === "") return refuse("a tool without a name", "a tool needs a name, which is a text: registerTool({ name, description, parameters, execute })");
      const what = `the tool ${quoted(tool.name)}`;
      if (typeof tool.execute !== "function") return refuse(what, "it needs a function execute(toolCallId, params, signal, onUpdate, ctx)");
      if (tool.parameters !== undefined && tool.parameters !== null && !isObject(tool.parameters)) return refuse(what, "its parameters are no schema: an object is, as Type.Object({ … }) makes it");
      tools.set(tool.name, tool);
      changed();
    },
    registerCommand(name, options) {
      check();
      if (typeof name !== "string" || name === "") return refuse("a command without a name", "a command needs a name, which is a text: registerCommand(name, { handler })");
      if (typeof options?.handler !== "function") return refuse(`the command ${quoted(name)}`, "it needs a function handler(args, ctx)");
      commands.set(name, { ...options, name });
      changed();
    },
    registerShortcut(key, options) {
      check();
      if (typeof options?.handler !== "function") return refuse(`the shortcut ${quoted(key)}`, "it needs a function handler(ctx)");
      shortcuts.set(String(key), { ...options, key: String(key) });
      changed();
    },
    registerFlag(name, options) {
      check();
      declared.set(String(name), { ...options, name: String(name) });
      changed();
    },
    getFlag(name) {
      check();
      if (!declared.has(name)) return undefined;
      const { type, default: otherwise } = declared.get(name);
      if (!Object.hasOwn(flags, name)) return otherwise;
      // What is written behind a name is text; a flag that is on or off is said in words.
      return type === "string" || typeof flags[name] === "boolean" ? flags[name] : flags[name] === "true";
    },
    registerMessageRenderer(customType, renderer) {
      check();
      if (typeof renderer !== "function") return refuse(`the renderer of ${quoted(customType)}`, "a renderer is a function (message, options, theme) => component");
      renderers.set(String(customType), renderer);
      changed();
    },
    registerEntryRenderer(customType, renderer) {
      check();
      if (typeof renderer !== "function") return refuse(`the renderer of entries ${quoted(customType)}`, "a renderer is a function (entry, options, theme) => component");
      entryRenderers.set(String(customType), renderer);
      changed();
    },
    registerToolRenderer: inert("pi.registerToolRenderer"),
    registerMarkdownTransformer: inert("pi.registerMarkdownTransformer"),
    registerProvider(name, config) {
      check();
      const provider = typeof name === "object" ? name : config;
      const id = typeof name === "object" ? (name?.id ?? name?.name) : name;
      const what = `the provider ${quoted(id)}`;
      if (!isObject(provider)) return refuse(what, "it needs a description: registerProvider(name, { baseUrl, api, apiKey, models })");
      if (provider.models !== undefined && !(Array.isArray(provider.models) && provider.models.every(isObject))) return refuse(what, "its models are no list of { id, name, … }");
      if (isObject(provider.oauth)) withoutEffect(`oauth of ${what}`);
      providers.set(String(id), provider);
      changed();
    },
    unregisterProvider(name) {
      check();
      providers.delete(String(name));
      changed();
    },
    sendMessage(message, options) {
      session("send_message", { ...part("outcome").draft(message), delivery: delivery(options?.deliverAs, "steer"), trigger_turn: options?.triggerTurn === true });
    },
    sendUserMessage(content, options) {
      acting();
      if (options?.deliverAs === undefined && !state().is_idle) throw new Error('the model is at work: say when the message comes with deliverAs: "steer" or "followUp"');
      session("send_user_message", { content: blocks(content), delivery: delivery(options?.deliverAs, "follow_up"), expand: options?.expandPromptTemplates === true });
    },
    appendEntry: (customType, data) => void session("append_entry", { custom_type: String(customType), data }),
    setSessionName: (name) => void session("set_name", { name: String(name) }),
    getSessionName() {
      acting();
      return state().name;
    },
    setLabel: (entryId, label) => void session("set_label", { entry_id: String(entryId), label: label === undefined || label === null || label === "" ? undefined : String(label) }),
    async exec(command, args = [], options = {}) {
      acting();
      const { signal, timeout, cwd, env, maxBuffer, stdin } = options;
      try {
        const params = { command: String(command), args: Array.from(args, String), cwd, env: env ?? {}, stdin, timeout_ms: timeout, max_output_bytes: maxBuffer, stream: false };
        const { stdout, stderr, exit, truncated } = await host.call("exec", params, { cancel: cancellation(signal) });
        return { stdout: decode(stdout), stderr: decode(stderr), code: exit.code ?? (exit.killed ? 0 : 1), killed: exit.killed, truncated };
      } catch (fault) {
        if (fault.name !== "HostFault") throw fault;
        // A program that is not there says nothing, as in Pi; what the host refuses is said.
        return { stdout: "", stderr: fault.message.startsWith("ENOENT") ? "" : fault.message, code: 1, killed: fault.code === "timeout" || signal?.aborted === true };
      }
    },
    getActiveTools: () => session("get_tools").tools.filter(({ is_active }) => is_active).map(({ name }) => name),
    getAllTools: () =>
      session("get_tools").tools.map(({ name, description, parameters, source }) => ({
        name, description, parameters,
        sourceInfo: { path: source ?? `<builtin:${name}>`, source: source === undefined ? "builtin" : "local", scope: "temporary", origin: "top-level" },
      })),
    setActiveTools: (names) => void session("set_active_tools", { names: Array.from(names, String) }),
    getCommands: () =>
      session("get_commands").commands.filter(({ source }) => source !== "built_in").map(({ name, description, source, path }) => ({
        name, description, source, path, sourceInfo: { path: path ?? "", source: "local", scope: "temporary", origin: "top-level" },
      })),
    async setModel(model) {
      acting();
      return (await host.call("session", { op: "set_model", provider: model.provider, model: model.id })).accepted;
    },
    getThinkingLevel() {
      acting();
      return state().thinking_level;
    },
    setThinkingLevel: (level) => void session("set_thinking_level", { level }),
    events,
    getSettings: () => assumed("pi.getSettings", settings),
    registerMcpServer: inert("pi.registerMcpServer"),
    unregisterMcpServer: check,
    getMcpServers: () => assumed("pi.getMcpServers", []),
    registerVirtualModel: inert("pi.registerVirtualModel"),
    unregisterVirtualModel: check,
    // The native API: connectors by name.
    tool: async (name, input, options) => (acting(), host.call("tool", { name: String(name), input: input ?? {} }, { cancel: cancellation(options?.signal), timeoutMs: options?.timeout })),
    async http({ url, method = "GET", headers = {}, body, timeout, followRedirects = true, signal }) {
      acting();
      const list = Array.isArray(headers) ? headers : Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }));
      const response = await host.call("http", { method, url: String(url), headers: list, body, timeout_ms: timeout, follow_redirects: followRedirects, stream: false }, { cancel: cancellation(signal) });
      const bytes = response.body;
      return { status: response.head.status, url: response.head.url, headers: Object.fromEntries(response.head.headers.map(({ name, value }) => [name.toLowerCase(), value])), bytes, get body() { return decode(bytes); } };
    },
    get fs() {
      return files;
    },
    get session() {
      return (conversation ??= converse());
    },
    get ui() {
      acting();
      return ui;
    },
  };

  const fs = async (op, params) => (acting(), host.call("fs", { op, ...params }));
  const files = {
    read: async (path) => decode((await fs("read", { path: String(path) })).content),
    readBytes: async (path, { offset, limit } = {}) => (await fs("read", { path: String(path), offset, limit })).content,
    write: async (path, content) => void (await fs("write", { path: String(path), content, mode: "replace" })),
    create: async (path, content) => void (await fs("write", { path: String(path), content, mode: "create_new" })),
    append: async (path, content) => void (await fs("append", { path: String(path), content })),
    list: async (path = ".") => (await fs("list", { path: String(path) })).entries,
    stat: async (path) => (await fs("stat", { path: String(path), follow_links: true })).info,
    exists: async (path) => (await fs("stat", { path: String(path), follow_links: true })).info !== undefined,
    resolve: async (path) => (await fs("resolve", { path: String(path) })).path,
    mkdir: async (path, { recursive = true } = {}) => void (await fs("make_directory", { path: String(path), parents: recursive })),
    remove: async (path, { recursive = false } = {}) => void (await fs("remove", { path: String(path), recursive })),
    rename: async (from, to) => void (await fs("rename", { from: String(from), to: String(to) })),
  };
  let conversation;
  const converse = () => ({
    ...part("session").sessionManager,
    getState: () => (acting(), state()),
    sendMessage: pi.sendMessage,
    sendUserMessage: pi.sendUserMessage,
    appendEntry: pi.appendEntry,
    setName: pi.setSessionName,
    setLabel: pi.setLabel,
    async complete({ model, systemPrompt, messages, tools, maxTokens, thinkingLevel, signal }) {
      acting();
      const params = { op: "complete", model: model && { provider: model.provider, model: model.id }, system_prompt: systemPrompt, messages, tools, max_tokens: maxTokens, thinking_level: thinkingLevel };
      return (await host.call("session", params, { cancel: cancellation(signal) })).message;
    },
  });

  const offerTool = ({ name, label, description, parameters, promptSnippet, promptGuidelines, executionMode, defaultActive, renderCall, renderResult }) => ({
    name, label: worded(label), description: worded(description) ?? "", parameters: parameters ?? { type: "object", properties: {} }, promptSnippet: worded(promptSnippet),
    executionMode: executionMode === "sequential" || executionMode === "parallel" ? executionMode : undefined,
    promptGuidelines: promptGuidelines === undefined || promptGuidelines === null ? [] : Array.from(typeof promptGuidelines === "string" ? [promptGuidelines] : promptGuidelines, String),
    defaultActive: defaultActive !== false, renders: typeof renderCall === "function" || typeof renderResult === "function",
  });
  const offerProvider = ([name, config]) => {
    const kept = Object.entries(config).filter(([key, value]) => !CONFIG_WITHHELD.has(key) && typeof value !== "function");
    // Nobody can sign in here, and a request without a key is no request that the provider answers.
    const isKeyless = isObject(config.oauth) && !config.apiKey && config.headers === undefined && typeof config.streamSimple !== "function";
    if (isKeyless) kept.push(["oauth", true]);
    return { name, config: Object.fromEntries(kept), streams: !isKeyless && canStream(config) };
  };
  const heard = () => {
    const counts = [...hooks].map(([name, list]) => [name, list.length]).filter(([, count]) => count > 0);
    if ([...channels.values()].some((list) => list.length > 0)) counts.push(["bus", 1]);
    return Object.fromEntries(counts);
  };
  // Each with its name in words: what the host cannot read costs itself.
  const named = (kind, offers) => offers.map((offer) => ({ what: `the ${kind} ${quoted(offer.name ?? offer.key)}`, offer }));
  const offered = () => ({
    tools: named("tool", entriesOf(tools).map(offerTool)),
    commands: named("command", entriesOf(commands).map(({ name, description, getArgumentCompletions }) => ({ name, description: worded(description), completes: typeof getArgumentCompletions === "function" }))),
    hooks: heard(),
    channels: [...channels].filter(([, list]) => list.length > 0).map(([name]) => name),
    flags: named("flag", entriesOf(declared).map(({ name, description, type, default: value }) => ({ name, description: worded(description), type: type === "string" ? "string" : "boolean", default: typeof value === "boolean" ? value : worded(value) }))),
    shortcuts: named("shortcut", entriesOf(shortcuts).map(({ key, description }) => ({ key, description: worded(description) }))),
    renderers: [...renderers.keys()],
    entry_renderers: [...entryRenderers.keys()],
    providers: named("provider", [...providers].map(offerProvider)),
    unusable,
  });

  const answer = async (hook, given, event, kept) => {
    const result = await given;
    // An extension that runs shell commands in its own way is given this one to run.
    if (hook === "user_bash" && result?.operations && !result.result) return outcomeOf(hook, { result: await operate(result.operations, event) }, event, kept);
    return outcomeOf(hook, result, event, kept);
  };
  async function operate(operations, { command, cwd }) {
    const pieces = [];
    const onData = (data) => pieces.push(decode(data));
    const { exitCode } = await operations.exec(command, cwd, { onData });
    return { output: pieces.join(""), exitCode: exitCode ?? undefined, cancelled: false, truncated: false };
  }
  const bus = ({ channel, data }) => {
    if (!isEcho(`${channel}\0${copied(data)}`)) hear(channel, data);
    return { family: "notice" };
  };
  // What each handler of an event is told is the same.
  let soFar;
  let partial;
  const complete = (event, index) => {
    const { assistantMessageEvent: step } = event;
    soFar ??= part("partial").partials();
    if (index === 0 || partial === undefined) partial = soFar(step, event.message, event.usage);
    event.message = partial;
    step.partial = partial;
  };
  const handle = (job, hook, index, event) => {
    if (hook === "bus") return bus(event);
    const entry = hooks.get(hook)?.[index];
    if (entry === undefined) return { family: "notice" };
    event.type = entry.name;
    if (hook === "message_update") complete(event, index);
    if (hook === "session_before_compact" || hook === "session_before_tree") event.signal = signalOf(job);
    const kept = part("outcome").before(hook, event);
    const result = entry.fn(event, hook === "before_agent_start" ? context.start(job, event.systemPrompt) : context.event(job));
    return isThenable(result) || hook === "user_bash" ? answer(hook, result, event, kept) : outcomeOf(hook, result, event, kept);
  };

  const outputOf = (result) => {
    const { content, details, isError, terminate, ...rest } = typeof result === "object" && result !== null ? result : { content: result };
    return { ...rest, content: typeof content === "string" ? blocks(content) : (content ?? []), details };
  };
  const known = (map, kind, name) => {
    const found = map.get(name);
    if (found === undefined) throw new Error(`the extension has no ${kind} ${name} any more`);
    return found;
  };
  const replyOf = (result) => ({ is_error: result?.isError === true, terminate: result?.terminate === true, output: outputOf(result) });
  const callTool = (job, callId, name, input) => {
    const tool = known(tools, "tool", name);
    const params = typeof tool.prepareArguments === "function" ? tool.prepareArguments(input) : input;
    return tool.execute(callId, params, signalOf(job), (partial) => native.update(job, outputOf(partial)), context.event(job));
  };

  const lines = (component, width) => (component === undefined || component === null ? null : Array.from(component.render(width), String));
  // What the renderers of a tool keep of a call between its drawings; the oldest is forgotten.
  const kept = new Map();
  const keptOf = (callId) => {
    if (!kept.has(callId)) kept.set(callId, { state: {} });
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
    return kept.get(callId);
  };
  const draw = ({ kind, message, entry, callId, name, input, output, isPartial, isError, width, expanded }) => {
    const { theme } = part("theme");
    if (kind === "message") return lines(renderers.get(message.customType)?.(message, { expanded }, theme), width);
    if (kind === "entry") return lines(entryRenderers.get(entry.customType)?.(entry, { expanded }, theme), width);
    const [tool, mine] = [tools.get(name), keptOf(callId)];
    const context = { args: input, toolCallId: callId, state: mine.state, expanded, isPartial: isPartial === true, isError: isError === true, executionStarted: true, argsComplete: true, showImages: false, cwd: host.place.cwd, invalidate: () => undefined, lastComponent: mine[kind] };
    mine[kind] = kind === "call" ? tool?.renderCall?.(input, theme, context) : tool?.renderResult?.({ ...output, isError: isError === true }, { expanded, isPartial: isPartial === true }, theme, context);
    return lines(mine[kind], width);
  };
  const stream = async (job, provider, model, context, options) => {
    const config = known(providers, "provider", provider);
    const given = { ...options, ...accessOf(config), signal: signalOf(job) };
    const described = describedBy(config, model);
    const ask = typeof config.streamSimple === "function" ? config.streamSimple : host.load("pi:shim/pi/ai/calls").speaking(described.api);
    const source = await ask.call(config, described, context, given);
    let last;
    for await (const step of source) {
      last = step;
      const { partial, ...told } = step;
      await request((call) => native.step(call, job, told));
    }
    return typeof source.result === "function" ? source.result() : (last?.message ?? last?.error);
  };

  const inspect = () => ({
    loaded: true,
    error: null,
    handlers: Object.fromEntries([...handlers].map(([name, list]) => [name, list.length])),
    tools: entriesOf(tools).map(({ name, label, description, parameters }) => ({ name, label, description, parameters })),
    commands: entriesOf(commands).map(({ name, description }) => ({ name, description })),
    shortcuts: entriesOf(shortcuts).map(({ key, description }) => ({ shortcut: key, description })),
    flags: entriesOf(declared).map(({ name, type, default: value, description }) => ({ name, type, default: value, description })),
    messageRenderers: [...renderers.keys()],
    providers: [...providers].map(([name, { models }]) => ({ name, models: Array.from(models ?? [], ({ id, name }) => ({ id, name })) })),
  });

  // A guest that was started anew is told so, as after a reload.
  const begin = async () => {
    for (const { fn } of hooks.get("session_start") ?? []) {
      try {
        await fn({ type: "session_start", reason: "reload" }, context.event(0));
      } catch (thrown) {
        native.uncaught(describe(thrown));
      }
    }
  };
  const load = async (namespace, evaluated, isAgain) => {
    await evaluated;
    let factory = namespace.default;
    for (let depth = 0; depth < 2 && typeof factory !== "function" && factory?.default !== undefined; depth++) factory = factory.default;
    if (typeof factory !== "function") throw new Error("the extension exports no function by default: write `export default function (pi) { … }`");
    // Not frozen: extensions wrap its functions, as they may in Pi, and reach nobody but themselves.
    await factory(pi);
    phase = "ready";
    if (isAgain) host.immediate(begin);
    return offered();
  };

  return {
    load: (job, namespace, evaluated, isAgain) => run(job, () => load(namespace, evaluated, isAgain)),
    handle: (job, hook, index, event) => run(job, () => handle(job, hook, index, event)),
    tool: (job, callId, name, input) => run(job, () => callTool(job, callId, name, input), replyOf),
    command: (job, name, args) =>
      run(job, async () => {
        await known(commands, "command", name).handler(args, context.command(job));
      }),
    completions: (job, name, prefix) => run(job, () => commands.get(name)?.getArgumentCompletions?.(prefix) ?? null),
    shortcut: (job, key) => run(job, () => known(shortcuts, "shortcut", key).handler(context.event(job))),
    render: (job, subject) => run(job, () => draw(subject)),
    stream: (job, provider, model, given, options) => run(job, () => stream(job, provider, model, given, options)),
    inspect: (job) => run(job, inspect),
    offered,
    abort(job) {
      const controller = controllers.get(job);
      controllers.delete(job);
      controller?.abort();
    },
    retire() {
      phase = "stale";
      for (const controller of controllers.values()) controller.abort();
      controllers.clear();
    },
    key: (id, data) => part("drawing").canvas.key(id, data),
    resized: (id) => part("drawing").canvas.resized(id),
    taken: (id) => part("drawing").canvas.taken(id),
  };
}
