// node:punycode. Only what URLs need of it.
import { domainToASCII } from "pi:shim/node/url";

export const toASCII = domainToASCII;
export const ucs2 = { decode: (text) => Array.from(text, (char) => char.codePointAt(0)), encode: (points) => String.fromCodePoint(...points) };
export default { toASCII, ucs2 };
