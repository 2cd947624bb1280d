// node:http2. The host speaks HTTP by itself.
export const constants = {};
export default { constants, [Symbol.for("pi.remedy")]: "use fetch" };
