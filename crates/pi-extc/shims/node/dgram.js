// node:dgram. Sockets are not for extensions.
export default { [Symbol.for("pi.remedy")]: "an extension has no sockets: start a program that sends" };
