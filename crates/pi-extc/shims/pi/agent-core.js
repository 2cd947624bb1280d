// @mariozechner/pi-agent-core. An agent of one's own needs model calls with tools, which the host does not offer; the names
// are stubs that say so.
export default { [Symbol.for("pi.remedy")]: "an agent of its own cannot run inside an extension: start `pi -p` as a process, or use pi.sendMessage and complete()" };
