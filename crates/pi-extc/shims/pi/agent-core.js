// @mariozechner/pi-agent-core: an agent inside an extension. It asks models as every call of the extension does and carries out
// its tools itself; tools of the host are host calls of the extension. Not here: the loop without an agent.
export { Agent } from "pi:shim/pi/agent-core/agent";

export default { [Symbol.for("pi.remedy")]: "make an Agent, or a session with createAgentSession" };
