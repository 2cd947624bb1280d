// `ctx.modelRegistry`: which models there are, and what they need.
import host from "pi:host";
import { assumed } from "pi:shim/assumed";
import { accessOf, owned } from "pi:shim/pi/ai/own";

// Model calls through the session need no key; this stands where one is asked for without being given.
const KEPT = "kept-by-pi";

const models = () => host.callSync("session", { op: "get_models" }).models;
const credential = async (provider) => host.call("credentials", { op: "get", provider: String(provider) });

async function keyOf(provider) {
  // What the extension brought along is its own.
  if (owned.has(provider)) return { headers: {}, ...accessOf(owned.get(provider)) };
  try {
    const { api_key, headers } = await credential(provider);
    return { apiKey: api_key, headers: Object.fromEntries((headers ?? []).map(({ name, value }) => [name, value])) };
  } catch (fault) {
    if (fault.code === "denied") return { apiKey: KEPT, headers: {} };
    throw fault;
  }
}

const isUsable = (provider, id) => models().some((known) => known.is_usable && known.provider === provider && (id === undefined || known.model === id));

export const modelRegistry = {
  getAll: () => models().map(({ info }) => info),
  getAvailable: () => models().filter(({ is_usable }) => is_usable).map(({ info }) => info),
  find: (provider, id) => models().find((known) => known.provider === provider && known.model === id)?.info,
  hasConfiguredAuth: (model) => isUsable(model?.provider, model?.id),
  isUsingOAuth: () => assumed("ctx.modelRegistry.isUsingOAuth", false),
  getError: () => undefined,
  getProviderDisplayName: (provider) => String(provider),
  refresh: async () => undefined,
  async getApiKey(model) {
    return isUsable(model?.provider) ? (await keyOf(model.provider)).apiKey : undefined;
  },
  async getApiKeyForProvider(provider) {
    return isUsable(provider) ? (await keyOf(provider)).apiKey : undefined;
  },
  async getApiKeyAndHeaders(model) {
    if (!isUsable(model?.provider, model?.id)) return { ok: false, error: `No API key found for "${model?.provider}"` };
    try {
      return { ok: true, ...(await keyOf(model.provider)) };
    } catch (fault) {
      return { ok: false, error: fault.message };
    }
  },
};
