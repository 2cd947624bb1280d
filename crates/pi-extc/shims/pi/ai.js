// @mariozechner/pi-ai and @earendil-works/pi-ai. A `stream…` of one way of speaking asks an address of the extension's own if it
// is given one with a key, where that way is spoken here, and the session's own model access otherwise. Not here: Bedrock.
import host from "pi:host";
import { speaking, stream } from "pi:shim/pi/ai/calls";
import { Type } from "pi:shim/typebox/type";
import { hidden } from "pi:shim/typebox/kinds";

export { Type };
export { validateToolArguments, validateToolCall } from "pi:shim/pi/ai/arguments";
export {
  clearApiProviders, complete, completeSimple, getApiProvider, getApiProviders, registerApiProvider, registerBuiltInApiProviders, resetApiProviders, stream, streamSimple, unregisterApiProviders,
} from "pi:shim/pi/ai/calls";
export { AssistantMessageEventStream, createAssistantMessageEventStream, EventStream } from "pi:shim/pi/ai/events";
export { parseJsonWithRepair, parseStreamingJson, repairJson } from "pi:shim/pi/ai/json";
export { calculateCost, clampThinkingLevel, getModel, getModels, getProviders, getSupportedThinkingLevels, modelsAreEqual } from "pi:shim/pi/ai/models";
export { getOAuthApiKey, getOAuthProvider, getOAuthProviderInfoList, getOAuthProviders, refreshOAuthToken, registerOAuthProvider, resetOAuthProviders, unregisterOAuthProvider } from "pi:shim/pi/ai/oauth";
export { getOverflowPatterns, isContextOverflow } from "pi:shim/pi/ai/overflow";

export const streamAnthropic = speaking("anthropic-messages");
export const streamOpenAICompletions = speaking("openai-completions");
export const streamOpenAIResponses = speaking("openai-responses");
export const streamAzureOpenAIResponses = speaking("azure-openai-responses");
export const streamOpenAICodexResponses = speaking("openai-codex-responses");
export const streamGoogle = speaking("google-generative-ai");
export const streamGoogleVertex = speaking("google-vertex");
export const streamMistral = speaking("mistral-conversations");
export {
  streamAnthropic as streamSimpleAnthropic, streamAzureOpenAIResponses as streamSimpleAzureOpenAIResponses, streamGoogle as streamSimpleGoogle, streamGoogleVertex as streamSimpleGoogleVertex, streamMistral as streamSimpleMistral,
  streamOpenAICodexResponses as streamSimpleOpenAICodexResponses, streamOpenAICompletions as streamSimpleOpenAICompletions, streamOpenAIResponses as streamSimpleOpenAIResponses,
};

/** The ways to ask one kind of provider, as newer versions hand them out. */
const api = (own) => () => ({ stream: own, streamSimple: own });
export const anthropicMessagesApi = api(streamAnthropic);
export const azureOpenAIResponsesApi = api(streamAzureOpenAIResponses);
export const bedrockConverseStreamApi = api(stream);
export const googleGenerativeAIApi = api(streamGoogle);
export const googleVertexApi = api(streamGoogleVertex);
export const mistralConversationsApi = api(streamMistral);
export const openAICodexResponsesApi = api(streamOpenAICodexResponses);
export const openAICompletionsApi = api(streamOpenAICompletions);
export const openAIResponsesApi = api(streamOpenAIResponses);
export const piMessagesApi = api(stream);

/** An enumeration of texts in the form that every provider takes. */
export function StringEnum(values, options) {
  const schema = { type: "string", enum: values };
  if (options?.description) schema.description = options.description;
  if (options?.default) schema.default = options.default;
  return hidden(schema, "~unsafe", null);
}

const VARIABLES = {
  openai: ["OPENAI_API_KEY"], anthropic: ["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"], google: ["GEMINI_API_KEY"], groq: ["GROQ_API_KEY"], cerebras: ["CEREBRAS_API_KEY"], xai: ["XAI_API_KEY"], openrouter: ["OPENROUTER_API_KEY"],
  mistral: ["MISTRAL_API_KEY"], zai: ["ZAI_API_KEY"], deepseek: ["DEEPSEEK_API_KEY"], huggingface: ["HF_TOKEN"],
};
export function findEnvKeys(provider) {
  const { environment } = host.load("pi:shim/node/process/environment");
  return (VARIABLES[provider] ?? []).filter((name) => environment[name]);
}
/** Reads the environment, which has to be granted; model calls do not need it. */
export const getEnvApiKey = (provider) => {
  const [name] = findEnvKeys(provider);
  return name === undefined ? undefined : host.load("pi:shim/node/process/environment").environment[name];
};

export const formatThrownValue = (value) => (value instanceof Error ? value.message || value.name : typeof value === "string" ? value : JSON.stringify(value));
export const extractDiagnosticError = (fault) => (fault instanceof Error ? { name: fault.name, message: fault.message, stack: fault.stack } : { name: "ThrownValue", message: formatThrownValue(fault) });
export const createAssistantMessageDiagnostic = (type, fault, details) => ({ type, timestamp: host.now(), error: extractDiagnosticError(fault), ...(details && { details }) });
export function appendAssistantMessageDiagnostic(message, diagnostic) { message.diagnostics = [...(message.diagnostics ?? []), diagnostic]; }

export const fauxText = (text) => ({ type: "text", text });
export const fauxThinking = (thinking) => ({ type: "thinking", thinking });
let lastCall = 0;
export const fauxToolCall = (name, args, options) => ({ type: "toolCall", id: options?.id ?? `tool:${++lastCall}`, name, arguments: args });
export function fauxAssistantMessage(content, options = {}) {
  const blocks = typeof content === "string" ? [fauxText(content)] : [content].flat();
  return {
    role: "assistant", content: blocks, api: "faux", provider: "faux", model: "faux-1",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
    stopReason: options.stopReason ?? "stop", ...(options.errorMessage && { errorMessage: options.errorMessage }), timestamp: options.timestamp ?? host.now(),
  };
}

const cleanups = new Set();
export function registerSessionResourceCleanup(cleanup) {
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}
export function cleanupSessionResources(session) { for (const cleanup of cleanups) cleanup(session); }

export default { [Symbol.for("pi.remedy")]: "call models with complete() or stream(), which use the session's own access" };
