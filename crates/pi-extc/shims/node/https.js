// node:https, the client. Certificates are the host's business: options about them have no effect.
import { Agent, client } from "pi:shim/node/http/client";
import { noServer } from "pi:shim/node/http/names";

const { request, get } = client("https:");
const globalAgent = new Agent({ keepAlive: true });
const { createServer, Server } = noServer("https");

export { Agent, createServer, get, globalAgent, request, Server };
export default { Agent, createServer, get, globalAgent, request, Server };
