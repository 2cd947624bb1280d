// Providers that the extension itself registered. They are asked by the extension, with its own requests and its own keys:
// nothing of them is known to the host but names and models.
import host from "pi:host";

/** By name, as `pi.registerProvider` took them. */
export const owned = new Map();

/** What can be spoken with an address of the extension's own. */
const SPOKEN = new Set(["openai-completions", "anthropic-messages"]);

export const isSpoken = (api) => SPOKEN.has(api);

/** Whether its models can be asked: it streams itself, or says where and in what way. */
export function canStream({ streamSimple, baseUrl, api, models }) {
  if (typeof streamSimple === "function") return true;
  return typeof baseUrl === "string" && Array.isArray(models) && models.length > 0 && models.every((model) => isSpoken(model.api ?? api));
}

// What a setting stands for: the output of a command, a variable of the environment, or itself. Each of the first two is an
// effect and may be refused; what is refused stands for itself, as a variable that is not set does in Pi.
function valueOf(setting) {
  if (typeof setting !== "string" || setting === "") return undefined;
  if (setting.startsWith("!")) return String(host.load("pi:shim/node/child_process").execSync(setting.slice(1))).trim();
  const name = /^\$\{?([A-Za-z_]\w*)\}?$/.exec(setting)?.[1] ?? (/^[A-Z][A-Z0-9_]*$/.test(setting) ? setting : undefined);
  const value = name && host.load("pi:shim/node/process/environment").environment[name];
  return value || setting;
}

/** The key and headers of a provider, as calls of models take them. */
export function accessOf({ apiKey, headers, authHeader }) {
  const key = valueOf(apiKey);
  const told = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, valueOf(value) ?? ""]));
  if (authHeader && key) told.Authorization = `Bearer ${key}`;
  return { ...(key !== undefined && { apiKey: key }), ...(Object.keys(told).length > 0 && { headers: told }) };
}

/** A model as its provider describes it, with what the host says of it beneath. */
export function describedBy(config, model) {
  const described = config.models?.find(({ id }) => id === model.id);
  return { ...model, ...described, provider: model.provider, api: described?.api ?? config.api ?? model.api, baseUrl: described?.baseUrl ?? config.baseUrl ?? model.baseUrl };
}
