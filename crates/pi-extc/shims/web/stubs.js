// Globals that exist so that code can look for them, and say what to do when they are used.

const stub = (name, remedy) => {
  const fault = () => Object.assign(new Error(`${name} is not available to an extension; ${remedy}`), { code: "ERR_NOT_AVAILABLE" });
  return class { constructor() { throw fault(); } };
};

export const MessageChannel = stub("MessageChannel", "use EventEmitter or EventTarget");
export const MessagePort = stub("MessagePort", "use EventEmitter or EventTarget");
export const BroadcastChannel = stub("BroadcastChannel", "use pi.events");
