// Arguments of tool calls against the schema of the tool.
import { Check, Clone, Convert, Errors } from "pi:shim/typebox/value";

const place = (fault) => {
  const path = fault.instancePath.replace(/^\//, "").replace(/\//g, ".");
  const missing = fault.keyword === "required" ? fault.params.requiredProperties?.[0] : undefined;
  return [path, missing].filter(Boolean).join(".") || "root";
};

/** The arguments, converted where the schema asks for it; an error names every fault. */
export function validateToolArguments(tool, call) {
  const given = Convert(tool.parameters, Clone(call.arguments));
  if (Check(tool.parameters, given)) return given;
  const faults = [...Errors(tool.parameters, given)].map((fault) => `  - ${place(fault)}: ${fault.message}`);
  throw new Error(`Validation failed for tool "${call.name}":\n${faults.join("\n") || "Unknown validation error"}\n\nReceived arguments:\n${JSON.stringify(call.arguments, null, 2)}`);
}

export function validateToolCall(tools, call) {
  const tool = tools.find((own) => own.name === call.name);
  if (!tool) throw new Error(`Tool "${call.name}" not found`);
  return validateToolArguments(tool, call);
}
