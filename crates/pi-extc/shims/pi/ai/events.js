// Streams of events about an answer in the making.
import { blank } from "pi:shim/pi/ai/draft";
import { parseStreamingJson } from "pi:shim/pi/ai/json";

/** Events that can be iterated once, and one result. */
export class EventStream {
  #queue = [];
  #waiting = [];
  #isDone = false;
  #isComplete;
  #extract;
  #settle;
  #result;
  constructor(isComplete, extractResult) {
    this.#isComplete = isComplete;
    this.#extract = extractResult;
    this.#result = new Promise((resolve) => { this.#settle = resolve; });
  }
  push(event) {
    if (this.#isDone) return;
    if (this.#isComplete(event)) {
      this.#isDone = true;
      this.#settle(this.#extract(event));
    }
    const next = this.#waiting.shift();
    if (next) next({ value: event, done: false });
    else this.#queue.push(event);
  }
  end(result) {
    this.#isDone = true;
    if (result !== undefined) this.#settle(result);
    for (const next of this.#waiting.splice(0)) next({ value: undefined, done: true });
  }
  result() { return this.#result; }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.#queue.length > 0) yield this.#queue.shift();
      else if (this.#isDone) return;
      else {
        const { value, done } = await new Promise((resolve) => this.#waiting.push(resolve));
        if (done) return;
        yield value;
      }
    }
  }
}

export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super((event) => event.type === "done" || event.type === "error", (event) => {
      if (event.type === "done") return event.message;
      if (event.type === "error") return event.error;
      throw new Error("Unexpected event type for final result");
    });
  }
}
export const createAssistantMessageEventStream = () => new AssistantMessageEventStream();

/**
 * Tells steps of an answer as Pi's events, which have all that there is so far. The function that it gives takes one step; its
 * `count` says how many it took.
 */
export function follow(stream, model) {
  const partial = blank(model);
  const known = new Map();
  let count = 0;
  const grow = ({ type, contentIndex: at, delta, content, id, toolName, toolCall }) => {
    const block = partial.content[at];
    if (type === "text_start" || type === "thinking_start") partial.content[at] = type === "text_start" ? { type: "text", text: "" } : { type: "thinking", thinking: "" };
    else if (type === "toolcall_start") partial.content[at] = { type: "toolCall", id: id ?? "", name: toolName ?? "", arguments: {} };
    else if (type === "toolcall_delta") {
      known.set(at, (known.get(at) ?? "") + delta);
      partial.content[at] = { ...block, arguments: parseStreamingJson(known.get(at)) };
    } else if (type === "toolcall_end") partial.content[at] = toolCall;
    else if (block && delta !== undefined) partial.content[at] = { ...block, [block.type]: block[block.type] + delta };
    else if (block && content !== undefined) partial.content[at] = { ...block, [block.type]: content };
  };
  const hear = (step) => {
    // The end comes with the whole message.
    if (step.type === "done" || step.type === "error") return;
    count++;
    grow(step);
    stream.push({ ...step, partial: { ...partial, content: [...partial.content] } });
  };
  return Object.assign(hear, { count: () => count });
}

/** The events that lead to a message which is there as a whole, but for those that were told already. */
export function replay(stream, message, told = 0) {
  if (told === 0) steps(stream, message);
  const isBad = message.stopReason === "error" || message.stopReason === "aborted";
  stream.push(isBad ? { type: "error", reason: message.stopReason, error: message } : { type: "done", reason: message.stopReason, message });
}

function steps(stream, message) {
  const partial = { ...message, content: [] };
  stream.push({ type: "start", partial });
  for (const [contentIndex, block] of message.content.entries()) {
    partial.content = message.content.slice(0, contentIndex + 1);
    if (block.type === "toolCall") {
      stream.push({ type: "toolcall_start", contentIndex, partial });
      stream.push({ type: "toolcall_delta", contentIndex, delta: JSON.stringify(block.arguments), partial });
      stream.push({ type: "toolcall_end", contentIndex, toolCall: block, partial });
      continue;
    }
    const kind = block.type === "thinking" ? "thinking" : "text";
    stream.push({ type: `${kind}_start`, contentIndex, partial });
    stream.push({ type: `${kind}_delta`, contentIndex, delta: block[kind], partial });
    stream.push({ type: `${kind}_end`, contentIndex, content: block[kind], partial });
  }
}
