// What a model called, carried out.
import host from "pi:host";
import { validateToolArguments } from "pi:shim/pi/ai/arguments";

const failed = (text) => ({ result: { content: [{ type: "text", text }], details: {} }, isError: true });

/** Carries calls out, beside each other unless one of their tools or the agent wants them in turn; answers in their order. */
export async function carryOut(calls, message, agent, tell) {
  const { tools } = agent.state;
  const isInTurn = agent.toolExecution === "sequential" || calls.some(({ name }) => tools.find((tool) => tool.name === name)?.executionMode === "sequential");
  const one = (call) => perform(call, message, agent, tell);
  const done = [];
  if (isInTurn) for (const call of calls) done.push(await one(call));
  else done.push(...(await Promise.all(calls.map(one))));
  const results = done.map(({ call, result, isError }) => ({ role: "toolResult", toolCallId: call.id, toolName: call.name, content: result.content ?? [], details: result.details, isError, timestamp: host.now() }));
  return { results, isLast: done.length > 0 && done.every(({ result }) => result.terminate === true) };
}

async function perform(call, message, agent, tell) {
  const [toolCallId, toolName] = [call.id, call.name];
  await tell({ type: "tool_execution_start", toolCallId, toolName, args: call.arguments });
  const { result, isError } = await outcome(call, message, agent, (partialResult) => tell({ type: "tool_execution_update", toolCallId, toolName, args: call.arguments, partialResult }));
  await tell({ type: "tool_execution_end", toolCallId, toolName, result, isError });
  return { call, result, isError };
}

async function outcome(call, assistantMessage, agent, onUpdate) {
  const { signal, state } = agent;
  const tool = state.tools.find(({ name }) => name === call.name);
  if (tool === undefined) return failed(`Tool ${call.name} not found`);
  if (signal.aborted) return failed("Operation aborted");
  try {
    const prepared = tool.prepareArguments ? { ...call, arguments: tool.prepareArguments(call.arguments) } : call;
    const args = validateToolArguments(tool, prepared);
    const context = { assistantMessage, toolCall: call, args, context: state };
    const objection = await agent.beforeToolCall?.(context, signal);
    if (objection?.block) return failed(objection.reason ?? "Tool execution was blocked");
    const result = await tool.execute(call.id, args, signal, onUpdate);
    const change = await agent.afterToolCall?.({ ...context, result, isError: false }, signal);
    return { result: { ...result, ...(change?.content && { content: change.content }), ...(change && "details" in change && { details: change.details }) }, isError: change?.isError ?? false };
  } catch (fault) {
    return failed(fault?.message ?? String(fault));
  }
}
