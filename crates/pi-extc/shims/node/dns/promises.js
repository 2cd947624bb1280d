// node:dns/promises. Names are resolved by the host when it connects.
export default { [Symbol.for("pi.remedy")]: "names are resolved by the host: use fetch with the name" };
