// node:inspector. The engine has no inspector.
export const url = () => undefined;
export const close = () => {};
export default { url, close, [Symbol.for("pi.remedy")]: "the engine has no inspector: use console" };
