// node:stream/consumers: a whole stream as one value.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";

export async function buffer(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}
export const text = async (stream) => (await buffer(stream)).toString();
export const json = async (stream) => JSON.parse(await text(stream));
export async function arrayBuffer(stream) {
  const bytes = await buffer(stream);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}
export const blob = async (stream) => new (host.load("pi:shim/web/blob").Blob)([await buffer(stream)]);
export default { buffer, text, json, arrayBuffer, blob };
