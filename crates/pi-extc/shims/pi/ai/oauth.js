// pi-ai/oauth. Providers that the extension registers are kept; signing in is the host's business.

const providers = new Map();

export const registerOAuthProvider = (provider) => void providers.set(provider.id, provider);
export const unregisterOAuthProvider = (id) => void providers.delete(id);
export const resetOAuthProviders = () => providers.clear();
export const getOAuthProvider = (id) => providers.get(id);
export const getOAuthProviders = () => [...providers.values()];
export const getOAuthProviderInfoList = () => getOAuthProviders().map(({ id, name }) => ({ id, name, available: true }));

export async function getOAuthApiKey(id, credentials) {
  const provider = providers.get(id);
  let own = credentials[id];
  if (!provider || !own) return null;
  if (own.expires <= Date.now()) own = await provider.refreshToken(own);
  return { newCredentials: own, apiKey: provider.getApiKey(own) };
}
export async function refreshOAuthToken(id, credentials) {
  const provider = providers.get(id);
  if (!provider) throw new Error(`there is no provider "${id}" to sign in with`);
  return provider.refreshToken(credentials);
}

export default { [Symbol.for("pi.remedy")]: "nobody signs in here: give the provider a key in <PROVIDER>_API_KEY or in auth.json of the agent directory; model calls through complete() then need none of yours" };
