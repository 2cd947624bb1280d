// Models at an address of the extension's own, asked with its own requests. Not here: what only some providers of a dialect
// know.
import { fetch } from "pi:shim/web/fetch";
import { createAssistantMessageEventStream } from "pi:shim/pi/ai/events";
import { Draft } from "pi:shim/pi/ai/draft";
import * as anthropic from "pi:shim/pi/ai/direct/anthropic";
import * as completions from "pi:shim/pi/ai/direct/completions";
import { records } from "pi:shim/pi/ai/direct/records";

const DIALECTS = { "anthropic-messages": anthropic, "openai-completions": completions };
/** Of an error's text; a page of HTML says nothing. */
const MOST_WORDS = 2000;

/** Answers like every `stream…` of pi-ai: events at once, errors among them. */
export function ask(model, context, options = {}) {
  const events = createAssistantMessageEventStream();
  const draft = new Draft(events, model);
  hear(draft, model, context, options).catch((fault) => draft.fail(reasonOf(fault), options.signal?.aborted === true));
  return events;
}

async function hear(draft, model, context, options) {
  const { request, hearer } = DIALECTS[model.api];
  const { path, headers, body } = request(model, context, options);
  options.onPayload?.(body, model);
  const response = await fetch(`${String(model.baseUrl).replace(/\/+$/, "")}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", ...headers, ...model.headers, ...options.headers },
    body: JSON.stringify(body),
    signal: options.signal,
  });
  if (!response.ok) throw new Error(await refusal(response));
  draft.begin();
  const heard = hearer(draft);
  for await (const record of records(response.body)) heard.take(record);
  draft.finish(heard.end());
}

async function refusal(response) {
  const text = (await response.text()).slice(0, MOST_WORDS);
  try {
    const { error, message } = JSON.parse(text);
    return `${response.status} ${error?.message ?? (typeof error === "string" ? error : undefined) ?? message ?? text}`;
  } catch {
    return `${response.status} ${text || response.statusText}`;
  }
}

// What a failed request hides behind "fetch failed" is worth more.
const reasonOf = (fault) => (fault?.message === "fetch failed" ? (fault.cause?.message ?? fault.message) : (fault?.message ?? String(fault)));
