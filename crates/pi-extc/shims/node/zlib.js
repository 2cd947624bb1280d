// node:zlib. The host has no compression.
export const constants = {};
export default { constants, [Symbol.for("pi.remedy")]: "fetch unpacks answers by itself; start gzip or unzip for files" };
