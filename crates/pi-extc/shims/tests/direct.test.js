import { reference, shim } from "./setup.js";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

const ai = await shim("pi/ai");
const { accessOf, canStream, owned } = await shim("pi/ai/own");
const { answers } = await import("./host.js");
const theirs = await reference("@mariozechner/pi-ai");

/** A provider that says what it is told to, and what it was asked. */
async function provider(told, work, status = 200) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    asked.push({ path: request.url, headers: request.headers, body: JSON.parse(text) });
    response.writeHead(status, { "content-type": status === 200 ? "text/event-stream" : "application/json" });
    // In two pieces that do not respect lines.
    response.write(told.slice(0, 37));
    setTimeout(() => response.end(told.slice(37)), 5);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.close();
  }
}
const lines = (records) => records.map((record) => `data: ${typeof record === "string" ? record : JSON.stringify(record)}\n\n`).join("");
const named = (records) => records.map((record) => `event: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`).join("");

const COMPLETIONS = lines([
  { id: "r1", choices: [{ delta: { role: "assistant", reasoning_content: "Let me " } }] },
  { id: "r1", choices: [{ delta: { reasoning_content: "see." } }] },
  { id: "r1", choices: [{ delta: { content: "Hel" } }] },
  { id: "r1", choices: [{ delta: { content: "lo" } }] },
  { id: "r1", choices: [{ delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "read", arguments: '{"pa' } }] } }] },
  { id: "r1", choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: 'th":"x"}' } }] } }] },
  { id: "r1", choices: [{ delta: { tool_calls: [{ index: 1, id: "c2", type: "function", function: { name: "ls", arguments: "{}" } }] } }] },
  { id: "r1", choices: [{ delta: {}, finish_reason: "tool_calls" }] },
  { id: "r1", choices: [], usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, prompt_tokens_details: { cached_tokens: 3 } } },
  "[DONE]",
]);
const MESSAGES = named([
  { type: "message_start", message: { id: "m1", usage: { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 } } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Let me see." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "c1", name: "read", input: {} } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"path":"x"}' } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
  { type: "message_stop" },
]);
const TOLD = { "openai-completions": COMPLETIONS, "anthropic-messages": MESSAGES };
const CONTEXT = {
  systemPrompt: "Be brief.",
  messages: [
    { role: "user", content: "Read x", timestamp: 1 },
    { role: "assistant", content: [{ type: "thinking", thinking: "so", thinkingSignature: "old" }, { type: "text", text: "Yes." }, { type: "toolCall", id: "c0", name: "read", arguments: { path: "x" } }], api: "openai-completions", provider: "mine", model: "m", usage: {}, stopReason: "toolUse", timestamp: 2 },
    { role: "toolResult", toolCallId: "c0", toolName: "read", content: [{ type: "text", text: "contents" }], isError: false, timestamp: 3 },
    { role: "user", content: [{ type: "text", text: "And this?" }, { type: "image", data: "aGk=", mimeType: "image/png" }], timestamp: 4 },
  ],
  tools: [{ name: "read", description: "Reads", parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } }],
};
const model = (api, baseUrl) => ({ id: "m", name: "M", api, provider: "mine", baseUrl, reasoning: true, input: ["text", "image"], cost: { input: 1e6, output: 2e6, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 500 });

/** What a stream told: its events without what there is so far, and the message without moments. */
async function heard(stream) {
  const events = [];
  for await (const { partial, message, error, id, toolName, ...event } of stream) events.push(event);
  const { timestamp, diagnostics, ...message } = await stream.result();
  return { events, message: JSON.parse(JSON.stringify(message)) };
}

for (const api of Object.keys(TOLD)) {
  test(`${api}: an answer is told as it comes`, () => provider(TOLD[api], async (address, asked) => {
    owned.set("mine", { baseUrl: address, api, apiKey: "sk-own", models: [model(api, address)] });
    const { events, message } = await heard(ai.streamSimple(model(api, address), CONTEXT, { maxTokens: 100 }));
    owned.clear();
    assert.deepEqual(message.content.map(({ type }) => type).slice(0, 3), ["thinking", "text", "toolCall"]);
    assert.deepEqual(message.content.slice(0, 3).map(({ text, thinking, arguments: own }) => text ?? thinking ?? own), ["Let me see.", "Hello", { path: "x" }]);
    assert.deepEqual([message.stopReason, message.usage.input, message.usage.output, message.usage.cacheRead], ["toolUse", 7, 4, 3]);
    assert.deepEqual(message.usage.cost.input, 7);
    assert.equal(events.filter(({ type }) => type.endsWith("_start")).length, events.filter(({ type }) => type.endsWith("_end")).length);
    assert.deepEqual([events[0].type, events.at(-1).type], ["start", "done"]);
    assert.equal(asked[0].headers[api === "openai-completions" ? "authorization" : "x-api-key"], api === "openai-completions" ? "Bearer sk-own" : "sk-own");
  }));
  const skip = theirs ? false : "the real packages are not installed in PI_SHIMS_REFERENCE";
  test(`${api}: Pi's own client hears and asks the same`, { skip }, async () => {
    const both = [];
    for (const { streamSimple } of [ai, theirs]) {
      both.push(await provider(TOLD[api], async (address, asked) => {
        const { events, message } = await heard(streamSimple(model(api, address), CONTEXT, { apiKey: "sk-own", maxTokens: 100 }));
        return { ends: [events[0], events.at(-1)], message, path: asked[0].path, said: asked[0].body.messages.map(({ role }) => role), most: asked[0].body.max_tokens ?? asked[0].body.max_completion_tokens };
      }));
    }
    for (const one of both) delete one.message.responseModel;
    assert.deepEqual(both[0], both[1]);
  });
}

test("a refusal is an answer that says why", () => provider('{"error":{"message":"no such key, and so on and on"}}', async (address) => {
  answers.session = () => ({ models: [] });
  const answer = await ai.complete(model("openai-completions", address), { messages: [] }, { apiKey: "sk-own" });
  assert.deepEqual([answer.stopReason, answer.errorMessage, answer.provider], ["error", "401 no such key, and so on and on", "mine"]);
}, 401));

test("an answer that breaks off is no answer", () => provider(COMPLETIONS.split("data: ").slice(0, 5).join("data: "), async (address) => {
  answers.session = () => ({ models: [] });
  const answer = await ai.complete(model("openai-completions", address), { messages: [] }, { apiKey: "sk-own" });
  assert.deepEqual([answer.stopReason, answer.errorMessage], ["error", "the stream ended before the answer did"]);
}));

test("the host's own models are asked by the host, whatever key is named", async () => {
  const answer = { role: "assistant", content: [], stopReason: "stop" };
  answers.session = ({ op }) => (op === "get_models" ? { models: [{ provider: "mine", model: "m", is_usable: true, info: { baseUrl: "http://x" } }] } : { message: answer });
  assert.deepEqual(await ai.complete(model("openai-completions", "http://x"), { messages: [] }, { apiKey: "sk-granted" }), answer);
  assert.deepEqual(await ai.complete(model("openai-completions", "http://y"), { messages: [] }, { apiKey: "kept-by-pi" }), answer);
});

test("a way of speaking that is not known here does not ask the session, which would ask back", async () => {
  answers.session = () => assert.fail("the session was asked");
  owned.set("mine", { streamSimple() {} });
  const answer = await ai.streamSimpleGoogle(model("google-generative-ai", "http://x"), { messages: [] }, { apiKey: "k" }).result();
  owned.clear();
  assert.match(answer.errorMessage, /google-generative-ai/);
});

test("a provider with a stream of its own is asked by that, with its key", async () => {
  const seen = [];
  owned.set("mine", { api: "own", apiKey: "PI_SHIMS_KEY", headers: { "x-a": "b" }, authHeader: true, streamSimple: (...args) => (seen.push(args[2]), { result: () => "answer" }) });
  process.env.PI_SHIMS_KEY = "sk-var";
  assert.equal(await ai.complete(model("own", ""), { messages: [] }, { apiKey: "kept-by-pi" }), "answer");
  owned.clear();
  assert.deepEqual(seen, [{ apiKey: "sk-var", headers: { "x-a": "b", Authorization: "Bearer sk-var" } }]);
});

test("a setting is a variable, a command, or itself", () => {
  process.env.PI_SHIMS_KEY_TWO = "two";
  const keys = ["PI_SHIMS_KEY_TWO", "$PI_SHIMS_KEY_TWO", "PI_SHIMS_NOT_SET", "!echo three", "sk-four", ""].map((apiKey) => accessOf({ apiKey }).apiKey);
  assert.deepEqual(keys, ["two", "two", "PI_SHIMS_NOT_SET", "three", "sk-four", undefined]);
});

test("a provider can be asked that streams, or says where and how", () => {
  const one = { baseUrl: "http://x", api: "openai-completions", models: [{ id: "m" }] };
  const found = [one, { ...one, baseUrl: undefined }, { ...one, models: [] }, { ...one, api: "google-generative-ai" }, { ...one, models: [{ id: "m", api: "openai-responses" }] }, { streamSimple() {} }].map(canStream);
  assert.deepEqual(found, [true, false, false, false, false, true]);
});
