// atob and btoa.
import host from "pi:host";

const fault = (message) => new (host.load("pi:shim/web/exception").DOMException)(message, "InvalidCharacterError");

export function btoa(value) {
  const text = String(value);
  if (/[^\u0000-\u00ff]/.test(text)) throw fault("Invalid character");
  return host.base64Encode(Uint8Array.from(text, (char) => char.charCodeAt(0)));
}

export function atob(value) {
  let text = String(value).replace(/[\t\n\f\r ]/g, "");
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw fault("The string to be decoded is not correctly encoded.");
  const { Buffer } = host.load("pi:shim/node/buffer/bytes");
  return Buffer.from(text, "base64").toString("latin1");
}
