// node:tls. Sockets are not for extensions.
export default { [Symbol.for("pi.remedy")]: "an extension has no sockets: use fetch" };
