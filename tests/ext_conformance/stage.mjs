// A made-up session inside the real Pi, in which a script is performed. What it answers is what `pi ext rehearse` answers
// there; what an extension does to it is written down step by step.

import { existsSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);

/** How long one step may take, and how long it is quiet before it counts as over. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 40;
const PAUSES = 25;
/** Between two keys, and how often escape is pressed before what was drawn is taken away. */
const REACTION_MS = 100;
const ESCAPES = 3;
const WORDS = "rehearsed words";
const KEY = "kept-by-rehearsal";
/** The session of every rehearsal, the same as there. */
const SESSION = "00000000-0000-7000-8000-000000000000";

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Everything that is written down of a step. */
export function notebook() {
  let effects = [];
  let isOutside = false;
  return {
    note: (kind, value) => void effects.push({ kind, value: plain(value) }),
    goOutside() {
      isOutside = true;
    },
    get size() {
      return effects.length;
    },
    take() {
      const taken = { effects, outside: isOutside };
      [effects, isOutside] = [[], false];
      return taken;
    },
  };
}

/** What crosses a process as JSON does; functions and cycles do not. */
export function plain(value) {
  if (value === undefined) return undefined;
  try {
    return JSON.parse(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)) ?? "null");
  } catch {
    return String(value);
  }
}

/** A bus between extensions on which everything said is written down. */
export function bus(createEventBus, notes) {
  const real = createEventBus();
  return { ...real, on: (channel, fn) => real.on(channel, fn), emit: (channel, data) => (notes.note("emit", { channel, data }), real.emit(channel, data)) };
}

/** Nothing goes out, and that something wanted to, or used what only this machine has, is written down. */
export function closeDoors(notes) {
  const refuse = () => {
    notes.goOutside();
    return Object.assign(new Error("getaddrinfo ENOTFOUND rehearsal.invalid"), { code: "ENOTFOUND", errno: -3008, syscall: "getaddrinfo", hostname: "rehearsal.invalid" });
  };
  globalThis.fetch = async () => {
    throw Object.assign(new TypeError("fetch failed"), { cause: refuse() });
  };
  const [dns, net] = [require("node:dns"), require("node:net")];
  const lookup = dns.lookup;
  dns.lookup = (host, options, done = options) => (/^(localhost|127\.|::1)/.test(host) ? lookup(host, options, done) : void process.nextTick(done, refuse()));
  dns.promises.lookup = async () => {
    throw refuse();
  };
  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (...args) {
    const { path, host } = args[0]?.[0] ?? args[0] ?? {};
    if (!path && host) notes.goOutside();
    return connect.apply(this, args);
  };
  watchPrograms(require("node:child_process"), notes);
  const { dlopen } = process;
  process.dlopen = (...args) => (notes.goOutside(), dlopen.apply(process, args));
  syncBuiltinESMExports();
}

/** Programs that are not those of the rehearsal are of this machine: what they say is not compared. */
function watchPrograms(processes, notes) {
  const isOutside = (file) => typeof file === "string" && file.includes("/") && !file.startsWith(process.env.PATH) && !/^\/bin\/(ba)?sh$/.test(file);
  const { spawn } = processes.ChildProcess.prototype;
  processes.ChildProcess.prototype.spawn = function (options) {
    if (isOutside(options?.file)) notes.goOutside();
    return spawn.call(this, options);
  };
  for (const name of ["spawnSync", "execFileSync"]) {
    const real = processes[name];
    processes[name] = (file, ...rest) => (isOutside(file) && notes.goOutside(), real(file, ...rest));
  }
}

/** The model of the scene: whatever it is asked, it says the same. */
export async function installModel(pi, scene, notes) {
  const scope = pi.includes("@earendil-works") ? "@earendil-works" : "@mariozechner";
  const place = [join(pi, "node_modules", scope, "pi-ai"), join(dirname(pi), "pi-ai")].find(existsSync);
  // Newer versions keep the registry of ways to speak to a model beside their entry.
  const entry = ["dist/compat.js", "dist/index.js"].map((file) => join(place, file)).find(existsSync);
  const ai = await import(pathToFileURL(entry));
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const stream = (model, context) => {
    notes.note("complete", asked(ai, context));
    const events = ai.createAssistantMessageEventStream();
    const message = { role: "assistant", content: [{ type: "text", text: scene.completion }], api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: 0 };
    queueMicrotask(() => {
      events.push({ type: "start", partial: message });
      events.push({ type: "done", reason: "stop", message });
    });
    return events;
  };
  ai.registerApiProvider({ api: scene.model.api, stream, streamSimple: stream });
  await installProvider(join(pi, "dist/core/model-runtime.js"), scene.model, stream);
}

/** What a model is asked. Newer versions have what holds for all of it among the messages. */
function asked(ai, { systemPrompt, messages }) {
  const rest = messages.filter(({ role }) => role !== "system");
  if (rest.length === messages.length) return { systemPrompt, messages };
  return { systemPrompt: systemPrompt ?? ai.getCurrentSystemPrompt(messages), messages: rest };
}

/** Newer versions ask a runtime of their own for models and keys where an extension begins a session: it has the model too. */
async function installProvider(file, model, streamSimple) {
  if (!existsSync(file)) return;
  const { ModelRuntime } = await import(pathToFileURL(file));
  const { create } = ModelRuntime;
  ModelRuntime.create = async (...args) => {
    const runtime = await create.apply(ModelRuntime, args);
    const { provider, api, baseUrl } = model;
    runtime.registerProvider(provider, { api, baseUrl, apiKey: KEY, models: [model], streamSimple });
    return runtime;
  };
}

function registry({ model }) {
  const key = KEY;
  const isKnown = (provider, id) => provider === model.provider && (id === undefined || id === model.id);
  return {
    getAll: () => [model],
    getAvailable: () => [model],
    find: (provider, id) => (isKnown(provider, id) ? model : undefined),
    hasConfiguredAuth: (one) => isKnown(one?.provider, one?.id),
    isUsingOAuth: () => false,
    getError: () => undefined,
    getProviderDisplayName: (provider) => String(provider),
    refresh: async () => undefined,
    getApiKey: async (one) => (isKnown(one?.provider) ? key : undefined),
    getApiKeyForProvider: async (provider) => (isKnown(provider) ? key : undefined),
    getApiKeyAndHeaders: async (one) => (isKnown(one?.provider, one?.id) ? { ok: true, apiKey: key, headers: {} } : { ok: false, error: `No API key found for "${one?.provider}"` }),
    registerProvider: () => undefined,
    unregisterProvider: () => undefined,
    getRegisteredProviderIds: () => [],
    authStorage: { get: () => undefined, has: () => false, hasAuth: () => false, list: () => [], set: () => undefined, remove: () => undefined, getApiKey: async () => undefined },
  };
}

function past(SessionManager, scene, cwd) {
  const manager = SessionManager.inMemory(cwd);
  manager.newSession({ id: SESSION });
  for (const entry of scene.entries) {
    manager._appendEntry(structuredClone(entry));
  }
  return manager;
}

/** A runner of the real Pi whose session is made up. */
export async function stage(pi, loaded, scene, notes) {
  const part = (path) => import(pathToFileURL(join(pi, "dist", path)));
  const { ExtensionRunner } = await part("core/extensions/runner.js");
  const { SessionManager } = await part("core/session-manager.js");
  const themes = await part("modes/interactive/theme/theme.js");
  themes.initTheme("dark");
  const cwd = process.cwd();
  const { note } = notes;
  const manager = past(SessionManager, scene, cwd);
  const runner = new ExtensionRunner(loaded.extensions, loaded.runtime, cwd, manager, registry(scene));
  const [extension] = loaded.extensions;
  let [thinking, chosen, editorText, person] = ["off", undefined, "", undefined];

  const allTools = () => {
    const own = [...extension.tools.values()].map(({ definition, sourceInfo }) => ({ name: definition.name, description: definition.description ?? "", parameters: definition.parameters, sourceInfo }));
    const props = scene.tools.filter(({ name }) => !extension.tools.has(name));
    return [...props.map(({ name }) => ({ name, description: name, parameters: {}, sourceInfo: { path: `<builtin:${name}>`, source: "builtin", scope: "temporary", origin: "top-level" } })), ...own];
  };
  const isActive = ({ name }) => {
    if (chosen) return chosen.names.includes(name) || !chosen.known.includes(name);
    return extension.tools.has(name) || scene.tools.some((prop) => prop.name === name && prop.isActive);
  };

  runner.bindCore(
    {
      sendMessage: (message, options) => note("message", { message, deliverAs: options?.deliverAs, triggerTurn: options?.triggerTurn === true }),
      sendUserMessage: (content, options) => note("say", { content, deliverAs: options?.deliverAs }),
      appendEntry(customType, data) {
        note("append", { customType, data });
        manager.appendCustomEntry(customType, data);
      },
      setSessionName(name) {
        note("name", name);
        manager.appendSessionInfo(name);
      },
      getSessionName: () => manager.getSessionName(),
      setLabel(entryId, label) {
        note("label", { entryId, label });
        manager.appendLabelChange(entryId, label);
      },
      getActiveTools: () => allTools().filter(isActive).map(({ name }) => name),
      getAllTools: allTools,
      setActiveTools(names) {
        note("tools", names);
        chosen = { names: [...names], known: allTools().map(({ name }) => name) };
      },
      refreshTools: () => undefined,
      getCommands: () => runner.getRegisteredCommands().map(({ invocationName, name, description, sourceInfo }) => ({ name: invocationName ?? name, description, source: "extension", sourceInfo })),
      async setModel(model) {
        note("model", { provider: model.provider, id: model.id });
        return model.provider === scene.model.provider && model.id === scene.model.id;
      },
      getThinkingLevel: () => thinking,
      setThinkingLevel(level) {
        note("thinking", level);
        thinking = level;
      },
    },
    {
      getModel: () => scene.model,
      getScopedModels: () => [],
      isIdle: () => true,
      isProjectTrusted: () => true,
      getSignal: () => undefined,
      abort: () => note("abort", true),
      hasPendingMessages: () => false,
      shutdown: () => note("shutdown", true),
      getContextUsage: () => ({ ...scene.contextUsage }),
      compact(options) {
        note("compact", { instructions: options?.customInstructions });
        queueMicrotask(() => options?.onComplete?.({ summary: scene.completion, firstKeptEntryId: manager.getLeafId() ?? "00000000", tokensBefore: 1000 }));
      },
      getSystemPrompt: () => scene.systemPrompt,
    },
    { registerProvider: () => undefined, unregisterProvider: () => undefined, registerNativeProvider: () => undefined },
  );
  const done = async (kind, value) => {
    note("control", { kind, ...value });
    return { cancelled: false };
  };
  runner.bindCommandContext({
    waitForIdle: async () => undefined,
    async newSession(options) {
      note("control", { kind: "newSession", parent: options?.parentSession });
      await options?.setup?.(SessionManager.inMemory(cwd));
      await options?.withSession?.(runner.createReplacedSessionContext?.() ?? replaced(runner));
      return { cancelled: false };
    },
    fork: (entry, options) => done("fork", { entry, position: options?.position ?? "before" }),
    navigateTree: (entry, options) => done("navigateTree", { entry, summarize: options?.summarize === true, instructions: options?.customInstructions, replacesInstructions: options?.replaceInstructions === true, label: options?.label }),
    switchSession: (path) => done("switchSession", { path }),
    reload: async () => note("control", { kind: "reload" }),
  });

  // As `ReplacedSessionContext` has them: the functions of the new session's own API.
  function replaced({ runtime }) {
    const context = runner.createCommandContext();
    return Object.defineProperties(context, Object.getOwnPropertyDescriptors({ sendMessage: async (...args) => runtime.sendMessage(...args), sendUserMessage: async (...args) => runtime.sendUserMessage(...args) }));
  }

  const answer = (agreed, fits) => {
    if (person === "agrees") return agreed;
    if (!Array.isArray(person)) return undefined;
    const words = person.shift();
    return fits(words) ? words : undefined;
  };
  const isText = (words) => typeof words === "string";
  const tui = { terminal: { columns: 80, rows: 24, write: () => undefined, hideCursor: () => undefined, showCursor: () => undefined }, requestRender: () => undefined, setFocus: () => undefined, addChild: () => undefined, removeChild: () => undefined, invalidate: () => undefined, showOverlay: () => ({ hide: () => undefined }), hideOverlay: () => undefined, hasOverlay: () => false, start: () => undefined, stop: () => undefined, addInputListener: () => () => undefined };
  const keybindings = await bindings(pi);
  async function custom(factory, options) {
    note("draw", { kind: options?.overlay ? "overlay" : "editor" });
    const keys = person === "agrees" ? ["\r"] : [];
    return new Promise((resolve, reject) => {
      let isOver = false;
      let component;
      const end = (value) => {
        if (isOver) return;
        isOver = true;
        component?.dispose?.();
        resolve(value);
      };
      (async () => {
        component = await factory(tui, themes.theme, keybindings, end);
        component?.render?.(80);
        for (const key of [...keys, ...Array(ESCAPES).fill("\u001b")]) {
          await wait(REACTION_MS);
          if (isOver) return;
          component?.handleInput?.(key);
          component?.render?.(80);
        }
        await wait(REACTION_MS);
        end(undefined);
      })().catch(reject);
    });
  }
  const ui = {
    async select(title, options, given) {
      const texts = Array.from(options, (option) => (isText(option) ? option : String(option?.label ?? option?.value ?? option)));
      note("ask", { method: "select", title, options: texts, timeout: given?.timeout });
      return answer(texts[0], (words) => texts.includes(words));
    },
    async confirm(title, message, given) {
      note("ask", { method: "confirm", title, message, timeout: given?.timeout });
      return answer(true, (words) => typeof words === "boolean") ?? false;
    },
    async input(title, placeholder, given) {
      note("ask", { method: "input", title, placeholder, timeout: given?.timeout });
      return answer(WORDS, isText);
    },
    async editor(title, prefill) {
      note("ask", { method: "editor", title, prefill });
      return answer(prefill || WORDS, isText);
    },
    custom,
    notify: (message, type) => note("notify", { message, type: type ?? "info" }),
    setStatus: (key, text) => note("status", { key, text }),
    setWidget(key, content, options) {
      if (typeof content === "function") note("draw", { kind: "widget", key, placement: options?.placement ?? "aboveEditor" });
      else note("widget", { key, content, placement: options?.placement ?? "aboveEditor" });
    },
    setTitle: (title) => note("title", title),
    setWorkingMessage: (message) => note("working", message ?? null),
    setEditorText(text) {
      note("editorText", text);
      editorText = text;
    },
    pasteToEditor(text) {
      note("editorText", text);
      editorText = text;
    },
    getEditorText: () => editorText,
    setFooter: (factory) => void (factory && note("draw", { kind: "footer" })),
    setHeader: (factory) => void (factory && note("draw", { kind: "header" })),
    get theme() {
      return themes.theme;
    },
    getAllThemes: () => [{ name: "dark", path: undefined }],
    getTheme: (name) => (name === "dark" ? themes.theme : undefined),
    setTheme: () => ({ success: false, error: "themes are chosen in the settings" }),
    getToolsExpanded: () => false,
    setToolsExpanded: () => undefined,
    setEditorComponent: () => undefined,
    getEditorComponent: () => undefined,
    addAutocompleteProvider: () => undefined,
    onTerminalInput: () => () => undefined,
    setWorkingVisible: () => undefined,
    setWorkingIndicator: () => undefined,
    setHiddenThinkingLabel: () => undefined,
  };
  return {
    runner,
    extension,
    invite(who) {
      person = Array.isArray(who) ? [...who] : who;
      runner.setUIContext(who === undefined ? undefined : ui, who === undefined ? "print" : "tui");
    },
  };
}

async function bindings(pi) {
  const scope = pi.includes("@earendil-works") ? "@earendil-works" : "@mariozechner";
  const place = [join(pi, "node_modules", scope, "pi-tui"), join(dirname(pi), "pi-tui")].find(existsSync);
  const tui = await import(pathToFileURL(join(place, "dist/index.js")));
  return tui.getKeybindings?.() ?? { matches: () => false, getKeys: () => [] };
}

/** Performs the steps and answers what came of each. `beginStep` is told the number of each, from one. */
export async function perform(steps, { runner, extension, invite }, notes, beginStep) {
  const told = [];
  for (const [index, step] of steps.entries()) {
    invite(step.person);
    beginStep(index + 1);
    const outcome = await Promise.race([act(step, runner, extension).catch(threw), wait(PATIENCE_MS).then(() => ({ late: true }))]);
    await settle(notes);
    told.push({ outcome: plain(outcome), ...notes.take() });
  }
  return told;
}

const threw = (error) => ({ error: error instanceof Error ? error.message : String(error) });

async function settle(notes) {
  let before;
  for (let count = 0; count < PAUSES; count++) {
    await wait(PAUSE_MS);
    if (before === notes.size) return;
    before = notes.size;
  }
}

async function act(step, runner, extension) {
  if (step.fire) return Promise.all((await fired(step, runner, extension)).map(plain));
  if (step.tool) return called(step, runner, extension);
  if (step.command) {
    const command = extension.commands.get(step.command);
    if (!command) return { missing: true };
    await command.handler(step.arguments, runner.createCommandContext());
    return {};
  }
  const shortcut = extension.shortcuts.get(step.shortcut);
  if (!shortcut) return { missing: true };
  // What a key leads to is reported and nothing else, as there.
  await Promise.resolve(shortcut.handler(runner.createContext())).catch(() => undefined);
  return { missing: false };
}

/** Every handler in turn hears the event as it was. */
async function fired({ fire, event }, runner, extension) {
  const outcomes = [];
  for (const handler of extension.handlers.get(fire) ?? []) {
    const heard = { type: fire, ...structuredClone(event) };
    if (/^session_before_(compact|tree)$/.test(fire)) Object.defineProperty(heard, "signal", { value: new AbortController().signal });
    try {
      const value = await handler(heard, runner.createContext());
      outcomes.push({ value: await operated(fire, value, heard), event: heard });
    } catch (error) {
      outcomes.push(threw(error));
    }
  }
  return outcomes;
}

/** An extension that runs shell commands in its own way is given this one to run. */
async function operated(fire, value, { command, cwd }) {
  if (fire !== "user_bash" || !value?.operations || value.result) return value;
  const pieces = [];
  const { exitCode } = await value.operations.exec(command, cwd, { onData: (data) => pieces.push(String(data)) });
  return { result: { output: pieces.join(""), exitCode: exitCode ?? undefined, cancelled: false, truncated: false } };
}

async function called({ tool, input }, runner, extension) {
  const definition = extension.tools.get(tool)?.definition;
  if (!definition) return { missing: true };
  let updates = 0;
  const given = structuredClone(input);
  const params = definition.prepareArguments ? definition.prepareArguments(given) : given;
  const { content, details, isError, terminate } = (await definition.execute("rehearsed-call", params, new AbortController().signal, () => void updates++, runner.createContext())) ?? {};
  return { content, details, isError: isError === true, terminate: terminate === true, updates };
}
