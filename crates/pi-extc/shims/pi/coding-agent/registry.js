// AuthStorage and ModelRegistry, for extensions that make their own: the models are the session's, keys stay with the host.
import { all, modelsAreEqual, usable } from "pi:shim/pi/ai/models";

const WHERE = "keys belong to the host: set them with the person's own environment or auth.json";

/** Knows no key; model calls do not need one. */
export class AuthStorage {
  static create() { return new AuthStorage(); }
  static inMemory() { return new AuthStorage(); }
  get() { return undefined; }
  has() { return false; }
  hasAuth() { return false; }
  list() { return []; }
  getAll() { return {}; }
  async getApiKey() { return undefined; }
  reload() {}
  set() { throw new Error(WHERE); }
  remove() { throw new Error(WHERE); }
}

/** The models that the session knows. */
export class ModelRegistry {
  static create(authStorage) { return new ModelRegistry(authStorage); }
  static inMemory(authStorage) { return new ModelRegistry(authStorage); }
  constructor(authStorage = AuthStorage.create()) { this.authStorage = authStorage; }
  refresh() {}
  getError() { return undefined; }
  getAll() { return all(); }
  getAvailable() { return usable(); }
  find(provider, id) { return this.getAll().find((model) => model.provider === provider && model.id === id); }
  hasConfiguredAuth(model) { return usable().some((known) => modelsAreEqual(known, model)); }
  async getApiKeyForProvider() { return undefined; }
  async getApiKeyAndHeaders() { return { ok: false, error: WHERE }; }
}
