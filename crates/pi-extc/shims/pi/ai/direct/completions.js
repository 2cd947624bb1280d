// Chat completions, as OpenAI began them and many others speak.
import { imagesOf, isSaidBy, textOf, whole } from "pi:shim/pi/ai/direct/content";

const STOPS = { stop: "stop", end: "stop", length: "length", tool_calls: "toolUse", function_call: "toolUse" };
/** Under which names providers tell what a model thinks. */
const THOUGHTS = ["reasoning_content", "reasoning", "reasoning_text"];

export function request(model, { systemPrompt, messages, tools }, { apiKey, maxTokens, temperature, reasoning }) {
  const { compat = {} } = model;
  const role = model.reasoning && compat.supportsDeveloperRole !== false ? "developer" : "system";
  const body = { model: model.id, messages: [...(systemPrompt ? [{ role, content: whole(systemPrompt) }] : []), ...spoken(model, messages)], stream: true };
  if (compat.supportsStore !== false) body.store = false;
  if (compat.supportsUsageInStreaming !== false) body.stream_options = { include_usage: true };
  if (maxTokens) body[compat.maxTokensField ?? "max_completion_tokens"] = Math.floor(maxTokens);
  if (temperature !== undefined) body.temperature = temperature;
  if (tools?.length > 0) body.tools = tools.map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } }));
  if (reasoning && model.reasoning && compat.supportsReasoningEffort !== false) body.reasoning_effort = model.thinkingLevelMap?.[reasoning] ?? reasoning;
  return { path: "/chat/completions", headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {}, body };
}

function* spoken(model, messages) {
  const shown = [];
  const canSee = model.input?.includes("image");
  for (const message of messages) {
    // Pictures of results follow when the last result of a turn was told.
    if (message.role !== "toolResult" && shown.length > 0) yield { role: "user", content: [{ type: "text", text: "Attached image(s) from tool result:" }, ...shown.splice(0)] };
    const pictures = canSee ? imagesOf(message).map(({ mimeType, data }) => ({ type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } })) : [];
    const text = textOf(message);
    if (message.role === "user") yield { role: "user", content: pictures.length > 0 ? [...(text ? [{ type: "text", text }] : []), ...pictures] : text };
    else if (message.role === "toolResult") {
      shown.push(...pictures);
      yield { role: "tool", tool_call_id: message.toolCallId, content: text || (pictures.length > 0 ? "(see attached image)" : "(no output)") };
    } else if (message.role === "assistant") yield* said(model, message, text);
  }
  if (shown.length > 0) yield { role: "user", content: [{ type: "text", text: "Attached image(s) from tool result:" }, ...shown] };
}

function* said(model, message, text) {
  const { content, stopReason } = message;
  if (stopReason === "error" || stopReason === "aborted") return;
  const thoughts = isSaidBy(model, message) ? content.filter(({ type, thinkingSignature }) => type === "thinking" && THOUGHTS.includes(thinkingSignature)) : [];
  const calls = content.filter(({ type }) => type === "toolCall").map(({ id, name, arguments: own }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(own) } }));
  if (!text && calls.length === 0) return;
  const thought = thoughts.length > 0 && { [thoughts[0].thinkingSignature]: thoughts.map(({ thinking }) => thinking).join("\n") };
  yield { role: "assistant", content: text || null, ...thought, ...(calls.length > 0 && { tool_calls: calls }) };
}

export function hearer(draft) {
  let stop;
  return {
    take({ id, choices, usage, error }) {
      if (error) throw new Error(error.message ?? JSON.stringify(error));
      if (id) draft.named(id);
      if (usage) draft.count(counted(usage));
      const [choice] = choices ?? [];
      if (choice === undefined) return;
      if (choice.usage) draft.count(counted(choice.usage));
      stop = choice.finish_reason ?? stop;
      const { delta = {} } = choice;
      const name = THOUGHTS.find((own) => typeof delta[own] === "string" && delta[own] !== "");
      if (name) {
        draft.grow("thinking", delta[name]);
        // Under the same name it is told again.
        draft.sign(name);
      }
      if (delta.content) draft.grow("text", delta.content);
      for (const { index = 0, id: call, function: own } of delta.tool_calls ?? []) {
        const key = `call ${index}`;
        if (!draft.isOpen(key)) draft.call(call ?? "", own?.name ?? "", key);
        draft.callArguments(own?.arguments ?? "");
      }
    },
    end() {
      if (stop === undefined) throw new Error("the stream ended before the answer did");
      if (STOPS[stop] === undefined) throw new Error(`the provider stopped the answer: ${stop}`);
      return STOPS[stop];
    },
  };
}

function counted({ prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: { cached_tokens: cacheRead = 0 } = {} }) {
  return { input: Math.max(0, input - cacheRead), output, cacheRead };
}
