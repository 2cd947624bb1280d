/**
 * An id that nobody else has. `crypto.randomUUID` would make one, and is not there where pages are shown over plain HTTP under
 * a name of the network.
 */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
