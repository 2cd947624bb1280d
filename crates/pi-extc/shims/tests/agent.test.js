import { reference, shim } from "./setup.js";
import assert from "node:assert/strict";
import test from "node:test";

const ai = await shim("pi/ai");
const core = await shim("pi/agent-core");
const agent = await shim("pi/coding-agent");
const { answers } = await import("./host.js");
const theirs = await reference("@mariozechner/pi-agent-core");
const skip = theirs ? false : "the real packages are not installed in PI_SHIMS_REFERENCE";

const MODEL = { id: "m", name: "M", api: "x", provider: "p", baseUrl: "", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 100, maxTokens: 10 };
const answer = (content, stopReason = "stop") => ({ role: "assistant", content, api: "x", provider: "p", model: "m", usage: { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 1 } }, stopReason, timestamp: 0 });
const text = (words) => ({ type: "text", text: words });
const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });

/** A model that says one thing after the other, and what it was shown. */
function script(...told) {
  const shown = [];
  const streamFn = (model, context, { signal }) => {
    shown.push(context.messages.map(({ role }) => role));
    const stream = ai.createAssistantMessageEventStream();
    const message = told.shift();
    queueMicrotask(() => {
      if (signal.aborted) return stream.push({ type: "error", reason: "aborted", error: { ...answer([], "aborted"), errorMessage: "Request was aborted" } });
      stream.push({ type: "start", partial: message });
      stream.push({ type: "text_delta", contentIndex: 0, delta: "x", partial: message });
      stream.push({ type: "done", reason: message.stopReason, message });
    });
    return stream;
  };
  return { streamFn, shown };
}
const adder = { name: "add", label: "Add", description: "Adds", parameters: ai.Type.Object({ a: ai.Type.Number(), b: ai.Type.Number() }), execute: async (id, { a, b }, signal, onUpdate) => (onUpdate({ content: [text("…")], details: {} }), { content: [text(String(a + b))], details: { sum: a + b } }) };
const broken = { ...adder, name: "broken", execute: async () => { throw new Error("it broke"); } };

/** One story of an agent: what it told, and what it remembers. */
async function story(Agent, told, tell, options = {}) {
  const { streamFn, shown } = script(...told);
  const one = new Agent({ initialState: { systemPrompt: "S", model: MODEL, tools: [adder, broken] }, streamFn, ...options });
  const events = [];
  one.subscribe((event) => { events.push([event.type, event.toolName, event.isError, event.message?.role, event.toolResults?.length, event.messages?.length].filter((part) => part !== undefined).join(" ")); });
  let failure;
  await tell(one).catch((fault) => { failure = fault.constructor.name; });
  const { messages, isStreaming, pendingToolCalls, errorMessage } = one.state;
  const remembered = messages.map(({ role, content, isError, stopReason }) => [role, JSON.stringify(content), isError, stopReason]);
  return { events, remembered, shown, isStreaming, pending: pendingToolCalls.size, hasError: !!errorMessage, failure };
}
const calls = answer([text("So"), call("1", "add", { a: 1, b: "2" }), call("2", "broken", { a: 1, b: 1 }), call("3", "lost", {}), call("4", "add", { a: 1 })], "toolUse");
const STORIES = {
  "a question": [[answer([text("hi")])], (one) => one.prompt("q")],
  "calls, good and bad": [[calls, answer([text("done")])], (one) => one.prompt("q")],
  "a word in between and one afterwards": [[calls, answer([text("done")]), answer([text("more")])], async (one) => {
    one.steer({ role: "user", content: "now", timestamp: 1 });
    one.followUp({ role: "user", content: "then", timestamp: 2 });
    await one.prompt("q");
  }],
  "an error": [[{ ...answer([], "error"), errorMessage: "no" }], (one) => one.prompt("q")],
  "going on without a word": [[answer([text("hi")])], async (one) => {
    await one.prompt("q");
    await one.continue();
  }],
  "an objection": [[calls, answer([text("done")])], (one) => one.prompt("q"), { beforeToolCall: async ({ toolCall }) => (toolCall.id === "1" ? { block: true, reason: "not that" } : undefined), toolExecution: "sequential" }],
};
for (const [name, [told, tell, options]] of Object.entries(STORIES)) {
  test(`Agent: ${name}, as in Pi`, { skip }, async () => {
    const [one, other] = [await story(core.Agent, [...told], tell, options), await story(theirs.Agent, [...told], tell, options)];
    // The words of an error are our own, and so is who of those that work beside each other is told of first.
    const isWork = (event) => event.startsWith("tool_execution");
    const bare = ({ events, remembered, ...rest }) => ({ ...rest, events: events.filter((event) => !isWork(event)), work: events.filter(isWork).sort(), remembered: remembered.map(([role, content, isError, stop]) => (isError ? [role, "…", isError, stop] : [role, content, isError, stop])) });
    assert.deepEqual(bare(one), bare(other));
  });
}
test("an agent carries out what is called and asks again", async () => {
  const { events, remembered, shown } = await story(core.Agent, [calls, answer([text("done")])], (one) => one.prompt("q"));
  assert.deepEqual(remembered.map(([role, , isError]) => (isError === undefined ? role : `${role} ${isError}`)), ["user", "assistant", "toolResult false", "toolResult true", "toolResult true", "toolResult true", "assistant"]);
  assert.equal(JSON.parse(remembered[2][1])[0].text, "3");
  assert.deepEqual(shown.map((roles) => roles.length), [1, 6]);
  assert.deepEqual([events[0], events.at(-1), events.filter((event) => event === "tool_execution_update add").length], ["agent_start", "agent_end 7", 1]);
});
test("an agent that is stopped stops, and can be asked again", async () => {
  const { streamFn } = script(calls, answer([text("again")]));
  const slow = { ...adder, execute: (id, args, signal) => new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))) };
  const one = new core.Agent({ initialState: { model: MODEL, tools: [slow] }, streamFn });
  one.subscribe(({ type }) => { if (type === "tool_execution_start") one.abort(); });
  await one.prompt("q");
  assert.deepEqual([one.state.isStreaming, one.state.messages.at(-1).role], [false, "toolResult"]);
  await one.prompt("q");
  assert.equal(one.state.messages.at(-1).content[0].text, "again");
});
test("a session of an extension asks through the host, and its tools are the host's", async () => {
  const told = [{ message: calls }, { message: answer([text("There are two.")]) }];
  told[0].message = answer([call("1", "ls", { path: "." }), call("2", "mine", {})], "toolUse");
  const asked = [];
  answers.session = (params) => (params.op === "complete" ? (asked.push(params), told.shift()) : { models: [] });
  answers.tool = ({ name }) => ({ content: [text(`${name}: a b`)], is_error: false });
  const mine = { name: "mine", label: "Mine", description: "d", parameters: ai.Type.Object({}), execute: async (id, params, signal, onUpdate, ctx) => ({ content: [text(ctx.cwd)], details: {} }) };
  const resourceLoader = new agent.DefaultResourceLoader({ systemPrompt: "Count files.", appendSystemPrompt: "Be quick.", noContextFiles: true });
  const { session } = await agent.createAgentSession({ model: MODEL, cwd: process.cwd(), tools: ["ls", "read", "mine"], customTools: [mine], resourceLoader, sessionManager: agent.SessionManager.inMemory() });
  const seen = [];
  session.subscribe(({ type }) => { seen.push(type); });
  await session.bindExtensions({});
  await session.prompt("How many?");
  assert.equal(session.getLastAssistantText(), "There are two.");
  assert.deepEqual(asked[0].tools.map(({ name }) => name), ["ls", "read", "mine"]);
  assert.match(asked[0].system_prompt, /^Count files\.\n\nBe quick\.\n\nCurrent working directory: /);
  const results = session.messages.filter(({ role }) => role === "toolResult").map(({ content }) => content[0].text);
  assert.deepEqual(results, ["ls: a b", process.cwd()]);
  const { toolCalls, tokens, cost } = session.getSessionStats();
  assert.deepEqual([toolCalls, tokens.total, cost, session.sessionManager.getEntries().length], [2, 10, 2, 5]);
  assert.deepEqual([seen[0], seen.at(-1)], ["agent_start", "agent_end"]);
  session.dispose();
});
