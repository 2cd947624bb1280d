// An agent: it is told something, asks a model, carries out what that calls, and asks again until nothing is called.
import host from "pi:host";
import { blank } from "pi:shim/pi/ai/draft";
import { carryOut } from "pi:shim/pi/agent-core/calls";

const controller = () => new (host.load("pi:shim/web/abort").AbortController)();
const user = (content) => ({ role: "user", content, timestamp: host.now() });
const isOver = ({ stopReason }) => stopReason === "error" || stopReason === "aborted";

/** Lists that are set are taken as copies. */
function stateOf({ systemPrompt = "", model, thinkingLevel = "off", tools = [], messages = [] }) {
  let [ownTools, ownMessages] = [[...tools], [...messages]];
  return {
    systemPrompt, model, thinkingLevel, isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set(), errorMessage: undefined,
    get tools() { return ownTools; },
    set tools(list) { ownTools = [...list]; },
    get messages() { return ownMessages; },
    set messages(list) { ownMessages = [...list]; },
  };
}

/** Messages that wait, and whether all of them go at once. */
function queue(mode = "one-at-a-time") {
  let waiting = [];
  return {
    mode,
    push: (message) => void waiting.push(message),
    clear() { waiting = []; },
    get size() { return waiting.length; },
    take() { return waiting.splice(0, this.mode === "all" ? waiting.length : 1); },
  };
}

export class Agent {
  #state;
  #listeners = new Set();
  #steering;
  #following;
  #run;

  constructor({ initialState = {}, steeringMode, followUpMode, ...options } = {}) {
    this.#state = stateOf(initialState);
    this.#steering = queue(steeringMode);
    this.#following = queue(followUpMode);
    this.convertToLlm = (messages) => host.load("pi:shim/pi/coding-agent/messages").convertToLlm(messages);
    this.streamFn = (...args) => host.load("pi:shim/pi/ai/calls").streamSimple(...args);
    this.toolExecution = "parallel";
    Object.assign(this, Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)));
  }

  get state() { return this.#state; }
  get signal() { return this.#run?.signal; }
  get steeringMode() { return this.#steering.mode; }
  set steeringMode(mode) { this.#steering.mode = mode; }
  get followUpMode() { return this.#following.mode; }
  set followUpMode(mode) { this.#following.mode = mode; }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  steer(message) { this.#steering.push(message); }
  followUp(message) { this.#following.push(message); }
  clearSteeringQueue() { this.#steering.clear(); }
  clearFollowUpQueue() { this.#following.clear(); }
  clearAllQueues() {
    this.#steering.clear();
    this.#following.clear();
  }
  hasQueuedMessages() { return this.#steering.size + this.#following.size > 0; }
  abort() { this.#run?.abort(); }
  async waitForIdle() { await this.#run?.ended; }
  reset() {
    this.clearAllQueues();
    Object.assign(this.#state, { messages: [], isStreaming: false, streamingMessage: undefined, errorMessage: undefined, pendingToolCalls: new Set() });
  }

  // Older names.
  setSystemPrompt(text) { this.#state.systemPrompt = text; }
  setModel(model) { this.#state.model = model; }
  setThinkingLevel(level) { this.#state.thinkingLevel = level; }
  setTools(tools) { this.#state.tools = tools; }
  replaceMessages(messages) { this.#state.messages = messages; }
  appendMessage(message) { this.#state.messages = [...this.#state.messages, message]; }
  clearMessages() { this.#state.messages = []; }

  /** @param {string|object|object[]} input a text, a message, or several */
  async prompt(input, images = []) {
    if (this.#run) throw new Error("the agent is at work: use steer() or followUp(), or wait until it is idle");
    const told = typeof input === "string" ? [user([{ type: "text", text: input }, ...images])] : [input].flat();
    await this.#work(told);
  }
  async continue() {
    if (this.#run) throw new Error("the agent is at work: wait until it is idle");
    const last = this.#state.messages.at(-1);
    if (last === undefined) throw new Error("there is nothing to continue from");
    const told = last.role === "assistant" ? (this.#steering.size > 0 ? this.#steering : this.#following).take() : [];
    if (last.role === "assistant" && told.length === 0) throw new Error("an answer of the model is the last message: prompt the agent");
    await this.#work(told);
  }

  async #work(told) {
    const own = controller();
    let end;
    this.#run = { signal: own.signal, abort: () => own.abort(), ended: new Promise((resolve) => { end = resolve; }) };
    Object.assign(this.#state, { isStreaming: true, streamingMessage: undefined, errorMessage: undefined });
    const made = [];
    try {
      await this.#tell({ type: "agent_start" });
      await this.#turns(told, made);
      await this.#tell({ type: "agent_end", messages: made });
    } catch (fault) {
      const message = { ...blank(this.#state.model), stopReason: own.signal.aborted ? "aborted" : "error", errorMessage: fault?.message ?? String(fault) };
      this.#state.messages.push(message);
      this.#state.errorMessage = message.errorMessage;
      await this.#tell({ type: "agent_end", messages: [...made, message] });
    } finally {
      Object.assign(this.#state, { isStreaming: false, streamingMessage: undefined, pendingToolCalls: new Set() });
      this.#run = undefined;
      end();
    }
  }

  async #turns(told, made) {
    let next = told;
    for (let isFirst = true; ; isFirst = false) {
      await this.#tell({ type: "turn_start" });
      for (const message of next) await this.#keep(message, made);
      if (isFirst) for (const message of this.#steering.take()) await this.#keep(message, made);
      const message = await this.#ask(made);
      const calls = isOver(message) ? [] : message.content.filter(({ type }) => type === "toolCall");
      const { results, isLast } = await carryOut(calls, message, this, (event) => this.#tell(event));
      for (const result of results) await this.#keep(result, made);
      await this.#tell({ type: "turn_end", message, toolResults: results });
      if (isOver(message) || isLast || this.signal.aborted) return;
      next = this.#steering.take();
      if (calls.length > 0 || next.length > 0) continue;
      next = this.#following.take();
      if (next.length === 0) return;
    }
  }

  async #keep(message, made) {
    await this.#tell({ type: "message_start", message });
    made.push(message);
    this.#state.messages.push(message);
    await this.#tell({ type: "message_end", message });
  }

  async #ask(made) {
    const { model, systemPrompt, tools, thinkingLevel, messages } = this.#state;
    if (model === undefined || model === null) throw new Error("the agent has no model");
    const { signal } = this;
    const shown = await this.convertToLlm((await this.transformContext?.(messages, signal)) ?? messages);
    const apiKey = await this.getApiKey?.(model.provider);
    const options = { signal, sessionId: this.sessionId, onPayload: this.onPayload, ...(apiKey !== undefined && { apiKey }), ...(thinkingLevel && thinkingLevel !== "off" && { reasoning: thinkingLevel }) };
    const stream = await this.streamFn(model, { systemPrompt, messages: shown, tools }, options);
    let hasBegun = false;
    for await (const event of stream) {
      if (event.partial === undefined) continue;
      this.#state.streamingMessage = event.partial;
      await this.#tell(hasBegun ? { type: "message_update", assistantMessageEvent: event, message: event.partial } : { type: "message_start", message: event.partial });
      hasBegun = true;
    }
    const message = await stream.result();
    this.#state.streamingMessage = undefined;
    if (!hasBegun) await this.#tell({ type: "message_start", message });
    made.push(message);
    messages.push(message);
    if (message.errorMessage) this.#state.errorMessage = message.errorMessage;
    await this.#tell({ type: "message_end", message });
    return message;
  }

  async #tell(event) {
    if (event.type === "tool_execution_start") this.#state.pendingToolCalls = new Set([...this.#state.pendingToolCalls, event.toolCallId]);
    if (event.type === "tool_execution_end") this.#state.pendingToolCalls = new Set([...this.#state.pendingToolCalls].filter((id) => id !== event.toolCallId));
    for (const listener of [...this.#listeners]) await listener(event, this.signal);
  }
}
