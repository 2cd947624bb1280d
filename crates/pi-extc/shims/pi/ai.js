// @mariozechner/pi-ai and @earendil-works/pi-ai. Not here: clients of single providers with keys of one's own, and Bedrock;
// every `stream…` asks the session's own model access.
import host from "pi:host";
import { stream, streamSimple } from "pi:shim/pi/ai/calls";
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
export {
  stream as streamAnthropic, stream as streamAzureOpenAIResponses, stream as streamGoogle, stream as streamGoogleVertex, stream as streamMistral, stream as streamOpenAICodexResponses,
  stream as streamOpenAICompletions, stream as streamOpenAIResponses, streamSimple as streamSimpleAnthropic, streamSimple as streamSimpleAzureOpenAIResponses, streamSimple as streamSimpleGoogle,
  streamSimple as streamSimpleGoogleVertex, streamSimple as streamSimpleMistral, streamSimple as streamSimpleOpenAICodexResponses, streamSimple as streamSimpleOpenAICompletions,
  streamSimple as streamSimpleOpenAIResponses,
} from "pi:shim/pi/ai/calls";

/** The ways to ask one kind of provider, as newer versions hand them out: all of them go through the session. */
const api = () => ({ stream, streamSimple });
export {
  api as anthropicMessagesApi, api as azureOpenAIResponsesApi, api as bedrockConverseStreamApi, api as googleGenerativeAIApi, api as googleVertexApi, api as mistralConversationsApi,
  api as openAICodexResponsesApi, api as openAICompletionsApi, api as openAIResponsesApi, api as piMessagesApi,
};

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
