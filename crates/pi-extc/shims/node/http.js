// node:http, the client; a server fails with what to do instead.
import { Agent, client, ClientRequest, IncomingMessage } from "pi:shim/node/http/client";
import { noServer, METHODS, STATUS_CODES } from "pi:shim/node/http/names";

const { request, get } = client("http:");
const globalAgent = new Agent({ keepAlive: true });
const { createServer, Server, ServerResponse, OutgoingMessage } = noServer("http");
const validateHeaderName = (name) => { if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) throw Object.assign(new TypeError(`Header name must be a valid HTTP token ["${name}"]`), { code: "ERR_INVALID_HTTP_TOKEN" }); };
const validateHeaderValue = () => {};
const maxHeaderSize = 16384;

export { Agent, ClientRequest, createServer, get, globalAgent, IncomingMessage, maxHeaderSize, METHODS, OutgoingMessage, request, Server, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue };
export default { Agent, ClientRequest, createServer, get, globalAgent, IncomingMessage, maxHeaderSize, METHODS, OutgoingMessage, request, Server, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue };
