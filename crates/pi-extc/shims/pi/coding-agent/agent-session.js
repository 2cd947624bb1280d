// A session of an extension's own: an agent with tools of the host and a prompt of its own, kept in memory. Nothing of it is in
// the conversation of the person, and no extensions run in it. Not here: compaction and retries.
import host from "pi:host";
import { Agent } from "pi:shim/pi/agent-core/agent";
import { DefaultResourceLoader, systemPromptOf } from "pi:shim/pi/coding-agent/resources";
import { SessionManager } from "pi:shim/pi/coding-agent/sessions";
import { SettingsManager } from "pi:shim/pi/coding-agent/settings";
import * as makers from "pi:shim/pi/coding-agent/tools";

const USUAL = ["read", "bash", "edit", "write"];
const maker = (name) => makers[`create${name[0]?.toUpperCase()}${name.slice(1)}Tool`];
const textOf = (message) => message.content.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const notHere = (what) => Object.assign(new Error(`${what} is not available in a session of an extension`), { code: "ERR_NOT_AVAILABLE" });

export class AgentSession {
  #listeners = new Set();
  #tools;
  constructor({ agent, sessionManager, settingsManager, modelRegistry, resourceLoader, tools, cwd }) {
    Object.assign(this, { agent, sessionManager, settingsManager, modelRegistry, resourceLoader });
    this.#tools = tools;
    this.cwd = cwd;
    agent.subscribe(async (event) => {
      // A file has an owner already.
      if (event.type === "message_end" && !sessionManager.isPersisted?.()) sessionManager.appendMessage(event.message);
      for (const listener of [...this.#listeners]) await listener(event);
    });
  }

  get state() { return this.agent.state; }
  get messages() { return this.agent.state.messages; }
  get model() { return this.agent.state.model; }
  get thinkingLevel() { return this.agent.state.thinkingLevel; }
  get systemPrompt() { return this.agent.state.systemPrompt; }
  get isStreaming() { return this.agent.state.isStreaming; }
  get isIdle() { return !this.isStreaming; }
  get isCompacting() { return false; }
  get isRetrying() { return false; }
  get pendingMessageCount() { return this.agent.hasQueuedMessages() ? 1 : 0; }
  get sessionId() { return this.sessionManager.getSessionId(); }
  get sessionFile() { return this.sessionManager.getSessionFile(); }
  get sessionName() { return this.sessionManager.getSessionName(); }
  get extensionRunner() { return { hasHandlers: () => false, emit: async () => undefined, getRegisteredCommands: () => [] }; }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  async prompt(text, { images = [], streamingBehavior } = {}) {
    if (!this.isStreaming) return this.agent.prompt(text, images);
    if (streamingBehavior === undefined) throw new Error('the agent is at work: say when the message comes with streamingBehavior: "steer" or "followUp"');
    return streamingBehavior === "steer" ? this.steer(text, images) : this.followUp(text, images);
  }
  async steer(text, images = []) { this.agent.steer(said(text, images)); }
  async followUp(text, images = []) { this.agent.followUp(said(text, images)); }
  async sendUserMessage(content, { deliverAs } = {}) {
    const text = typeof content === "string" ? content : textOf({ content });
    return this.prompt(text, { streamingBehavior: deliverAs ?? (this.isStreaming ? "followUp" : undefined) });
  }
  async abort() {
    this.agent.abort();
    await this.agent.waitForIdle();
  }
  async waitForIdle() { await this.agent.waitForIdle(); }
  clearQueue() { this.agent.clearAllQueues(); }
  dispose() {
    this.agent.abort();
    this.#listeners.clear();
  }
  /** No extensions run here. */
  async bindExtensions() {}
  async reload() {}

  async setModel(model) { this.agent.state.model = model; }
  setThinkingLevel(level) { this.agent.state.thinkingLevel = level; }
  setSessionName(name) { this.sessionManager.appendSessionInfo(name); }
  getActiveToolNames() { return this.agent.state.tools.map(({ name }) => name); }
  getAllTools() { return [...this.#tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters })); }
  setActiveToolsByName(names) { this.agent.state.tools = names.filter((name) => this.#tools.has(name)).map((name) => this.#tools.get(name)); }
  getLastAssistantText() {
    const last = this.messages.findLast(({ role }) => role === "assistant");
    return last && textOf(last).trim() ? textOf(last).trim() : undefined;
  }
  getSessionStats() {
    const count = (role) => this.messages.filter((message) => message.role === role).length;
    const used = this.messages.filter(({ role, usage }) => role === "assistant" && usage).map(({ usage }) => usage);
    const sum = (name) => used.reduce((total, usage) => total + (usage[name] ?? 0), 0);
    const tokens = { input: sum("input"), output: sum("output"), cacheRead: sum("cacheRead"), cacheWrite: sum("cacheWrite"), total: sum("totalTokens") };
    const toolCalls = this.messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => content).filter(({ type }) => type === "toolCall").length;
    return { sessionFile: this.sessionFile, sessionId: this.sessionId, userMessages: count("user"), assistantMessages: count("assistant"), toolCalls, toolResults: count("toolResult"), totalMessages: this.messages.length, tokens, cost: used.reduce((total, usage) => total + (usage.cost?.total ?? 0), 0) };
  }
  getContextUsage() {
    const last = this.messages.findLast(({ role, usage }) => role === "assistant" && usage?.totalTokens > 0);
    const contextWindow = this.model?.contextWindow ?? 0;
    return { tokens: last?.usage.totalTokens ?? null, contextWindow, percent: last && contextWindow ? (last.usage.totalTokens / contextWindow) * 100 : null };
  }
  async compact() { throw notHere("compact()"); }
  async fork() { throw notHere("fork()"); }
  async navigateTree() { throw notHere("navigateTree()"); }
}

const said = (text, images) => ({ role: "user", content: [{ type: "text", text }, ...images], timestamp: host.now() });

/** Tools by their names: the host's, those that were handed in, and those of the extension. */
function equip({ tools = USUAL, excludeTools = [], customTools = [] }, cwd, session) {
  const own = new Map();
  const given = (definition) => ({ ...definition, execute: (id, params, signal, onUpdate) => definition.execute(id, params, signal, onUpdate, contextOf(session, cwd, signal)) });
  for (const tool of tools) {
    const made = typeof tool === "string" ? maker(tool)?.(cwd) : tool;
    if (made) own.set(made.name, made);
  }
  const names = tools.filter((tool) => typeof tool === "string");
  const isWanted = ({ name }) => tools === USUAL || names.length === 0 || names.includes(name);
  for (const definition of customTools.filter(isWanted)) own.set(definition.name, given(definition));
  for (const name of excludeTools) own.delete(name);
  return own;
}

const contextOf = (session, cwd, signal) => ({
  cwd, signal, hasUI: false, mode: "print", model: session.current?.model, sessionManager: session.current?.sessionManager, modelRegistry: session.current?.modelRegistry,
  isIdle: () => session.current?.isIdle ?? true, abort: () => void session.current?.abort(), hasPendingMessages: () => false, getSystemPrompt: () => session.current?.systemPrompt ?? "", getContextUsage: () => session.current?.getContextUsage(),
});

/** The model of the conversation, unless one is given. */
function usualModel(modelRegistry) {
  const { model_info: info, model } = host.callSync("session", { op: "get_state" });
  return info ?? (model && modelRegistry?.find?.(model.provider, model.model));
}

export async function createAgentSession(options = {}) {
  const cwd = options.cwd ?? host.place.cwd;
  const modelRegistry = options.modelRegistry ?? options.modelRuntime;
  const loader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, noExtensions: true });
  if (options.resourceLoader === undefined) await loader.reload();
  const sessionManager = options.sessionManager ?? SessionManager.inMemory(cwd);
  const session = {};
  const tools = equip(options, cwd, session);
  const { messages } = sessionManager.buildSessionContext?.() ?? { messages: [] };
  const model = options.model ?? usualModel(modelRegistry);
  const agent = new Agent({
    initialState: { systemPrompt: systemPromptOf(loader, [...tools.values()], cwd), model, thinkingLevel: model?.reasoning === false ? "off" : (options.thinkingLevel ?? "off"), tools: [...tools.values()], messages },
    sessionId: sessionManager.getSessionId?.(), getApiKey: async (provider) => modelRegistry?.getApiKeyForProvider?.(provider),
  });
  session.current = new AgentSession({ agent, sessionManager, settingsManager: options.settingsManager ?? SettingsManager.create(cwd), modelRegistry, resourceLoader: loader, tools, cwd });
  return { session: session.current, extensionsResult: loader.getExtensions(), modelFallbackMessage: undefined };
}
