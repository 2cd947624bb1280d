// Messages, as Anthropic speaks and some others.
import { imagesOf, isSaidBy, textOf, whole } from "pi:shim/pi/ai/direct/content";

const STOPS = { end_turn: "stop", stop_sequence: "stop", pause_turn: "stop", max_tokens: "length", tool_use: "toolUse" };
/** How many tokens a level of thinking is worth, and how many an answer has beside it. */
const BUDGETS = { minimal: 1024, low: 2048, medium: 8192, high: 16384, xhigh: 16384 };
const MOST_TOKENS = 32_000;
const LEAST_ANSWER = 1024;

export function request(model, { systemPrompt, messages, tools }, { apiKey, maxTokens, temperature, reasoning, thinkingBudgets }) {
  const body = { model: model.id, messages: spoken(model, messages), max_tokens: Math.floor(maxTokens || Math.min(model.maxTokens || MOST_TOKENS, MOST_TOKENS)), stream: true };
  if (systemPrompt) body.system = [{ type: "text", text: whole(systemPrompt) }];
  if (tools?.length > 0) body.tools = tools.map(({ name, description, parameters }) => ({ name, description, input_schema: { type: "object", properties: parameters.properties ?? {}, required: parameters.required ?? [] } }));
  // What stays the same from one question to the next is read once.
  for (const part of [body.system?.[0], body.tools?.at(-1), body.messages.at(-1)?.content.at(-1)]) if (part) part.cache_control = { type: "ephemeral" };
  if (reasoning && model.reasoning) {
    const budget = thinkingBudgets?.[reasoning] ?? BUDGETS[reasoning] ?? BUDGETS.medium;
    body.max_tokens = Math.min(body.max_tokens + budget, model.maxTokens || Infinity);
    body.thinking = { type: "enabled", budget_tokens: Math.max(Math.min(budget, body.max_tokens - LEAST_ANSWER), LEAST_ANSWER) };
  } else if (temperature !== undefined) body.temperature = temperature;
  return { path: "/v1/messages", headers: { "anthropic-version": "2023-06-01", ...credential(apiKey) }, body };
}

function credential(key) {
  if (!key) return {};
  // What a login gives is no key.
  return key.includes("sk-ant-oat") ? { authorization: `Bearer ${key}`, "anthropic-beta": "oauth-2025-04-20" } : { "x-api-key": key };
}

const picture = ({ mimeType, data }) => ({ type: "image", source: { type: "base64", media_type: mimeType, data } });

function spoken(model, messages) {
  const told = [];
  const canSee = model.input?.includes("image");
  const parts = (message) => [...(textOf(message).trim() ? [{ type: "text", text: textOf(message) }] : []), ...(canSee ? imagesOf(message).map(picture) : [])];
  const say = (role, content) => {
    if (content.length === 0) return;
    // Results of one turn are one message.
    if (role === "user" && told.at(-1)?.role === "user" && told.at(-1).content[0].type === "tool_result" && content[0].type === "tool_result") told.at(-1).content.push(...content);
    else told.push({ role, content });
  };
  for (const message of messages) {
    if (message.role === "user") say("user", parts(message));
    else if (message.role === "toolResult") say("user", [{ type: "tool_result", tool_use_id: message.toolCallId, content: parts(message), is_error: message.isError === true }]);
    else if (message.role === "assistant" && message.stopReason !== "error" && message.stopReason !== "aborted") say("assistant", said(model, message));
  }
  return told;
}

function said(model, message) {
  const isOwn = isSaidBy(model, message);
  return message.content.flatMap((block) => {
    if (block.type === "text") return block.text.trim() ? [{ type: "text", text: whole(block.text) }] : [];
    if (block.type === "toolCall") return [{ type: "tool_use", id: block.id, name: block.name, input: block.arguments }];
    if (block.type !== "thinking") return [];
    if (isOwn && block.redacted) return [{ type: "redacted_thinking", data: block.thinkingSignature }];
    if (isOwn && block.thinkingSignature) return [{ type: "thinking", thinking: block.thinking, signature: block.thinkingSignature }];
    // Without its signature it is refused; what was thought is said.
    return block.redacted || !block.thinking.trim() ? [] : [{ type: "text", text: whole(block.thinking) }];
  });
}

export function hearer(draft) {
  let stop;
  let signature = "";
  const starts = {
    text: ({ text }, key) => draft.grow("text", text ?? "", key),
    thinking: ({ thinking }, key) => draft.grow("thinking", thinking ?? "", key),
    redacted_thinking: ({ data }) => draft.redact(data),
    tool_use: ({ id, name }, key) => draft.call(id, name, key),
  };
  const deltas = {
    text_delta: ({ text }, key) => draft.grow("text", text, key),
    thinking_delta: ({ thinking }, key) => draft.grow("thinking", thinking, key),
    signature_delta({ signature: more }) {
      signature += more;
      draft.sign(signature);
    },
    input_json_delta: ({ partial_json }) => draft.callArguments(partial_json),
  };
  const events = {
    message_start({ message: { id, usage } }) {
      draft.named(id);
      draft.count(counted(usage));
    },
    content_block_start({ index, content_block: block }) {
      signature = "";
      starts[block.type]?.(block, index);
    },
    content_block_delta: ({ index, delta }) => deltas[delta.type]?.(delta, index),
    content_block_stop: () => draft.close(),
    message_delta({ delta, usage }) {
      stop = delta?.stop_reason ?? stop;
      draft.count(counted(usage));
    },
    error({ error }) {
      throw new Error(error?.message ?? "the provider reports an error");
    },
  };
  return {
    take: (record) => events[record.type]?.(record),
    end() {
      if (stop === undefined) throw new Error("the stream ended before the answer did");
      if (STOPS[stop] === undefined) throw new Error(`the provider stopped the answer: ${stop}`);
      return STOPS[stop];
    },
  };
}

const NAMES = { input_tokens: "input", output_tokens: "output", cache_read_input_tokens: "cacheRead", cache_creation_input_tokens: "cacheWrite" };

/** Only what is told: the end does not say again what the beginning did. */
const counted = (usage) => Object.fromEntries(Object.entries(NAMES).filter(([name]) => typeof usage?.[name] === "number").map(([name, own]) => [own, usage[name]]));
