// node:diagnostics_channel. Channels work inside one extension.
const channels = new Map();

export class Channel {
  #listeners = new Set();
  constructor(name) { this.name = name; }
  get hasSubscribers() { return this.#listeners.size > 0; }
  subscribe(listener) { this.#listeners.add(listener); }
  unsubscribe(listener) { return this.#listeners.delete(listener); }
  publish(message) { for (const listener of [...this.#listeners]) listener(message, this.name); }
  runStores(message, callback, self, ...args) { this.publish(message); return callback.apply(self, args); }
  bindStore() {}
  unbindStore() {}
}
export function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}
export const hasSubscribers = (name) => channel(name).hasSubscribers;
export const subscribe = (name, listener) => channel(name).subscribe(listener);
export const unsubscribe = (name, listener) => channel(name).unsubscribe(listener);
export function tracingChannel(name) {
  return Object.fromEntries([...["start", "end", "asyncStart", "asyncEnd", "error"].map((part) => [part, channel(`tracing:${name}:${part}`)]), ["traceSync", (callback, context, self, ...args) => callback.apply(self, args)], ["tracePromise", (callback, context, self, ...args) => callback.apply(self, args)]]);
}
export default { Channel, channel, hasSubscribers, subscribe, unsubscribe, tracingChannel };
