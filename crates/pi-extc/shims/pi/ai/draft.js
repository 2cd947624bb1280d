// An answer in the making: what comes of it is told as events, each with all that there is so far.
import host from "pi:host";
import { parseStreamingJson } from "pi:shim/pi/ai/json";
import { calculateCost } from "pi:shim/pi/ai/models";

export const noUsage = () => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });

/** An answer that has nothing to say yet. */
export const blank = (model) => ({ role: "assistant", content: [], api: model?.api ?? "", provider: model?.provider ?? "", model: model?.id ?? "", usage: noUsage(), stopReason: "stop", timestamp: host.now() });

const TEXTS = { text: "text", thinking: "thinking" };

export class Draft {
  #events;
  #model;
  #message;
  #hasBegun = false;
  // The block that grows, by its place; what is known of a call's arguments, as text.
  #open;
  #arguments = "";

  constructor(events, model) {
    this.#events = events;
    this.#model = model;
    this.#message = blank(model);
  }

  #push(event) {
    const { content, ...rest } = this.#message;
    this.#events.push({ ...event, partial: { ...rest, content: content.map((block) => ({ ...block })) } });
  }

  begin() {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#push({ type: "start" });
  }

  /** More of a text or of thinking; another one than before if `key` is another. */
  grow(kind, delta, key = kind) {
    if (this.#open?.key !== key) {
      this.close();
      this.#begin({ type: kind, [TEXTS[kind]]: "" }, key);
    }
    if (delta === "") return;
    const block = this.#message.content[this.#open.at];
    block[TEXTS[kind]] += delta;
    this.#push({ type: `${kind}_delta`, contentIndex: this.#open.at, delta });
  }

  /** What has to be told again with the thinking that grows. */
  sign(signature) {
    const block = this.#message.content[this.#open?.at];
    if (block?.type === "thinking") block.thinkingSignature = signature;
  }

  /** Thinking of which there is nothing to read. */
  redact(data) {
    this.close();
    this.#begin({ type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: data, redacted: true }, undefined);
  }

  call(id, name, key) {
    this.close();
    this.#arguments = "";
    this.#begin({ type: "toolCall", id, name, arguments: {} }, key);
  }

  isOpen(key) {
    return this.#open?.key === key;
  }

  callArguments(delta) {
    if (delta === "" || this.#open === undefined) return;
    const block = this.#message.content[this.#open.at];
    this.#arguments += delta;
    block.arguments = parseStreamingJson(this.#arguments);
    this.#push({ type: "toolcall_delta", contentIndex: this.#open.at, delta });
  }

  #begin(block, key) {
    this.#message.content.push(block);
    this.#open = { key, at: this.#message.content.length - 1 };
    const start = block.type === "toolCall" ? { type: "toolcall_start", id: block.id, toolName: block.name } : { type: `${block.type}_start` };
    this.#push({ ...start, contentIndex: this.#open.at });
  }

  /** Nothing more comes of the block that grows. */
  close() {
    if (this.#open === undefined) return;
    const { at } = this.#open;
    this.#open = undefined;
    const block = this.#message.content[at];
    if (block.type === "toolCall") this.#push({ type: "toolcall_end", contentIndex: at, toolCall: { ...block } });
    else this.#push({ type: `${block.type}_end`, contentIndex: at, content: block[TEXTS[block.type]] });
  }

  /** @param {object} counted tokens by their kind */
  count(counted) {
    const usage = Object.assign(this.#message.usage, counted);
    usage.totalTokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    if (this.#model?.cost) calculateCost(this.#model, usage);
  }

  named(responseId) {
    this.#message.responseId = responseId;
  }

  finish(stopReason) {
    this.close();
    this.#message.stopReason = stopReason;
    this.#events.push({ type: "done", reason: stopReason, message: this.#message });
  }

  fail(reason, isAborted) {
    this.#open = undefined;
    const stopReason = isAborted ? "aborted" : "error";
    Object.assign(this.#message, { stopReason, errorMessage: isAborted ? "Request was aborted" : reason });
    this.#events.push({ type: "error", reason: stopReason, error: this.#message });
  }
}
