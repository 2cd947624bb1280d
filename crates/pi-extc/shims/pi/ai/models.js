// Models that the host knows. What it does not tell of one (prices, limits) are the usual defaults.
import host from "pi:host";

const APIS = {
  anthropic: "anthropic-messages", google: "google-generative-ai", "google-vertex": "google-vertex", "amazon-bedrock": "bedrock-converse-stream", mistral: "mistral-conversations", openai: "openai-responses",
  "openai-codex": "openai-codex-responses", "azure-openai-responses": "azure-openai-responses",
};

const complete = ({ provider, model, id = model, info }) => ({
  id, name: id, api: APIS[provider] ?? "openai-completions", provider, baseUrl: "", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 128000, maxTokens: 16384, ...info,
});

/** What the host says of the models that it knows, with or without a key. Asking is an effect and may be refused; then there are none. */
function known() {
  try {
    return host.callSync("session", { op: "get_models" }).models;
  } catch (fault) {
    if (fault?.name !== "HostFault") throw fault;
    return [];
  }
}
/** Those that it knows. */
export const all = () => known().map(complete);
/** Those that the host can ask. */
export const usable = () => known().filter(({ is_usable }) => is_usable).map(complete);
export const getProviders = () => [...new Set(all().map((model) => model.provider))];
export const getModels = (provider) => all().filter((model) => model.provider === provider);
/** Extensions name models that are newer or older than the list; a provider that is known, here or to Pi, can be asked for any. */
export function getModel(provider, id) {
  const own = getModels(provider);
  return own.find((model) => model.id === id) ?? (own.length > 0 || Object.hasOwn(APIS, provider) ? complete({ provider, id }) : undefined);
}
export const modelsAreEqual = (one, other) => !!one && !!other && one.id === other.id && one.provider === other.provider;

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** A level is there unless the model's map says no; the highest must be named in it. */
export function getSupportedThinkingLevels(model) {
  if (!model.reasoning) return ["off"];
  return LEVELS.filter((level) => {
    const mapped = model.thinkingLevelMap?.[level];
    return mapped === null ? false : level === "xhigh" ? mapped !== undefined : true;
  });
}
export function clampThinkingLevel(model, level) {
  const levels = getSupportedThinkingLevels(model);
  if (levels.includes(level)) return level;
  const at = LEVELS.indexOf(level);
  return levels.find((own) => LEVELS.indexOf(own) >= at) ?? levels.findLast((own) => LEVELS.indexOf(own) <= at) ?? "off";
}

/** Sets the costs of a usage, in dollars, and gives them. */
export function calculateCost(model, usage) {
  const cost = (name) => (model.cost[name] / 1000000) * usage[name];
  Object.assign((usage.cost ??= {}), { input: cost("input"), output: cost("output"), cacheRead: cost("cacheRead"), cacheWrite: cost("cacheWrite") });
  usage.cost.total = usage.cost.input + usage.cost.output + usage.cost.cacheRead + usage.cost.cacheWrite;
  return usage.cost;
}
