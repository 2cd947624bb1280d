// Model calls of an extension: they go to the session, which has the keys. Models of a provider that the extension itself
// registered, and those at an address that only it knows with a key of its own, are asked by itself. Temperature and headers
// of a call through the session have no effect: the host's call has no room for them.
import host from "pi:host";
import { blank } from "pi:shim/pi/ai/draft";
import { createAssistantMessageEventStream, follow, replay } from "pi:shim/pi/ai/events";
import { accessOf, isSpoken, owned } from "pi:shim/pi/ai/own";

/** What stands for a key that the host keeps to itself. */
const KEPT = "kept-by-pi";

/** Ways to answer that the extension itself registered, by the name of the API. */
const providers = new Map();

export function registerApiProvider(provider, source) { providers.set(provider.api, { ...provider, source }); }
export function unregisterApiProviders(source) { for (const [api, own] of providers) if (own.source === source) providers.delete(api); }
export const getApiProvider = (api) => providers.get(api);
export const getApiProviders = () => [...providers.values()];
export const clearApiProviders = () => providers.clear();
export const resetApiProviders = () => providers.clear();
export const registerBuiltInApiProviders = () => {};

function failed(model, fault, isAborted) {
  return { ...blank(model), stopReason: isAborted ? "aborted" : "error", errorMessage: isAborted ? "Request was aborted" : (fault?.message ?? String(fault)) };
}

/** @param {object|undefined} model the model of the conversation, unless given */
function paramsOf(model, context, options) {
  const params = { op: "complete", messages: context.messages.map((message) => structured(message)) };
  if (model?.provider && model?.id) params.model = { provider: model.provider, model: model.id };
  if (context.systemPrompt) params.system_prompt = context.systemPrompt;
  if (options?.maxTokens) params.max_tokens = Math.floor(options.maxTokens);
  if (context.tools?.length > 0) params.tools = context.tools.map(({ name, description, parameters }) => structured({ name, description, parameters }));
  if (options?.reasoning) params.thinking_level = options.reasoning;
  return params;
}

/** Has the session asked by `call`, which gets the parameters and a token; never fails. */
async function ask(model, context, options, call) {
  const { signal } = options ?? {};
  if (signal?.aborted) return failed(model, undefined, true);
  const cancel = host.cancelToken();
  const onAbort = () => cancel.cancel();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await call(paramsOf(model, context, options), { cancel });
  } catch (fault) {
    return failed(model, fault, !!signal?.aborted);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

// Only plain data crosses to the host; members without a value are no members.
const structured = (message) => JSON.parse(JSON.stringify(message));

const whole = async (params, options) => (await host.call("session", params, options)).message;

/** The answer while it comes: the host tells its steps, each as JSON, and at last the message. */
function streamed(model, context, options) {
  const events = createAssistantMessageEventStream();
  const hear = follow(events, model);
  const call = async (params, given) => {
    const feed = host.open("session", params, given);
    let message;
    for (let { done, value } = await feed.next(); !done; { done, value } = await feed.next()) {
      if (value.item !== "piece") continue;
      const told = JSON.parse(typeof value.data === "string" ? value.data : host.utf8Decode(value.data, false));
      if (told.message === undefined) hear(told);
      else message = told.message;
    }
    return message ?? failed(model, "the session ended before the answer did", false);
  };
  ask(model, context, options, call).then((message) => replay(events, message, hear.count()));
  return events;
}

// The host's model of this name and address, if that is what is meant and it has a key for it, is asked by the host.
function isOwn(model, options) {
  if (!model?.provider || !isSpoken(model.api)) return false;
  if (owned.has(model.provider)) return true;
  const isKeyed = options?.apiKey !== undefined && options.apiKey !== KEPT;
  return isKeyed && !!model.baseUrl && !host.load("pi:shim/pi/ai/models").usable().some(({ provider, id, baseUrl }) => provider === model.provider && id === model.id && baseUrl === model.baseUrl);
}

const direct = (model, context, options) => host.load("pi:shim/pi/ai/direct").ask(model, context, { ...(owned.has(model.provider) && accessOf(owned.get(model.provider))), ...given(options) });
// The placeholder is no key.
const given = ({ apiKey, ...options } = {}) => (apiKey === undefined || apiKey === KEPT ? options : { ...options, apiKey });

/** Asks in one way of speaking, whoever may have registered another. */
export const speaking = (api) => (model, context, options) => {
  if (isOwn({ ...model, api }, options)) return direct({ ...model, api }, context, options);
  return owned.has(model?.provider) ? unspoken(model, api) : streamed(model, context, options);
};

// The session would ask the extension again.
function unspoken(model, api) {
  const events = createAssistantMessageEventStream();
  replay(events, failed(model, new Error(`an extension cannot speak ${api} by itself here; use openai-completions or anthropic-messages, or write streamSimple with fetch`), false));
  return events;
}

// A model that was registered with a stream of its own is asked by that.
function streamOf(model) {
  const config = owned.get(model?.provider);
  if (typeof config?.streamSimple !== "function" || (config.api ?? model.api) !== model.api) return undefined;
  return (own, context, options) => config.streamSimple(own, context, { ...accessOf(config), ...given(options) });
}

export function stream(model, context, options) {
  const own = providers.get(model?.api);
  if (own) return (own.stream ?? own.streamSimple)(model, context, options);
  return streamOf(model)?.(model, context, options) ?? speaking(model?.api)(model, context, options);
}
export function streamSimple(model, context, options) {
  const own = providers.get(model?.api);
  return own ? (own.streamSimple ?? own.stream)(model, context, options) : stream(model, context, options);
}

// Nobody waits for the steps of these.
const finished = (start) => async (model, context, options) => {
  const isElsewhere = providers.has(model?.api) || streamOf(model) !== undefined || isOwn(model, options);
  return isElsewhere ? start(model, context, options).result() : ask(model, context, options, whole);
};
export const complete = finished(stream);
export const completeSimple = finished(streamSimple);
