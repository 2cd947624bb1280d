// @earendil-works/pi-coding-agent: the same as the package of the older scope, but for what `edit` declares and `write` tells.
import whole from "pi:shim/pi/coding-agent";
import { newer } from "pi:shim/pi/coding-agent/tools";

export * from "pi:shim/pi/coding-agent";
export const { createCodingTools, createEditTool, createEditToolDefinition, createWriteTool, createWriteToolDefinition } = newer;
export default whole;
