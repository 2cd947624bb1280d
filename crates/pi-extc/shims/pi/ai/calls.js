// Model calls of an extension: they go to the session, which has the keys. An answer arrives as a whole and is then told as
// events. Temperature and headers of a call have no effect: the host's call has no room for them.
import host from "pi:host";
import { createAssistantMessageEventStream, replay } from "pi:shim/pi/ai/events";

/** Ways to answer that the extension itself registered, by the name of the API. */
const providers = new Map();

export function registerApiProvider(provider, source) { providers.set(provider.api, { ...provider, source }); }
export function unregisterApiProviders(source) { for (const [api, own] of providers) if (own.source === source) providers.delete(api); }
export const getApiProvider = (api) => providers.get(api);
export const getApiProviders = () => [...providers.values()];
export const clearApiProviders = () => providers.clear();
export const resetApiProviders = () => providers.clear();
export const registerBuiltInApiProviders = () => {};

const NO_USAGE = () => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });

function failed(model, fault, isAborted) {
  return {
    role: "assistant", content: [], api: model?.api ?? "", provider: model?.provider ?? "", model: model?.id ?? "", usage: NO_USAGE(), stopReason: isAborted ? "aborted" : "error",
    errorMessage: isAborted ? "Request was aborted" : (fault?.message ?? String(fault)), timestamp: host.now(),
  };
}

/** @param {object|undefined} model the model of the conversation, unless given */
async function ask(model, context, options) {
  const { signal } = options ?? {};
  const cancel = host.cancelToken();
  const onAbort = () => cancel.cancel();
  if (signal?.aborted) return failed(model, undefined, true);
  signal?.addEventListener("abort", onAbort, { once: true });
  const params = { op: "complete", messages: context.messages.map((message) => structured(message)) };
  if (model?.provider && model?.id) params.model = { provider: model.provider, model: model.id };
  if (context.systemPrompt) params.system_prompt = context.systemPrompt;
  if (options?.maxTokens) params.max_tokens = Math.floor(options.maxTokens);
  if (context.tools?.length > 0) params.tools = context.tools.map(({ name, description, parameters }) => structured({ name, description, parameters }));
  if (options?.reasoning) params.thinking_level = options.reasoning;
  try {
    const { message } = await host.call("session", params, { cancel });
    return message;
  } catch (fault) {
    return failed(model, fault, !!signal?.aborted);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

// Only plain data crosses to the host; members without a value are no members.
const structured = (message) => JSON.parse(JSON.stringify(message));

export function stream(model, context, options) {
  const own = providers.get(model?.api);
  if (own) return (own.stream ?? own.streamSimple)(model, context, options);
  const events = createAssistantMessageEventStream();
  ask(model, context, options).then((message) => replay(events, message));
  return events;
}
export function streamSimple(model, context, options) {
  const own = providers.get(model?.api);
  return own ? (own.streamSimple ?? own.stream)(model, context, options) : stream(model, context, options);
}
export const complete = async (model, context, options) => stream(model, context, options).result();
export const completeSimple = async (model, context, options) => streamSimple(model, context, options).result();
