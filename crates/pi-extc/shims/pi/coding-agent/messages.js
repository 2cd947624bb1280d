// Messages as a model gets them, and a conversation as text. The words are pi's own, as in the crate that makes prompts.

const asText = (text, { timestamp }) => ({ role: "user", content: [{ type: "text", text }], timestamp });

export function bashExecutionToText(bash) {
  // A fence that the output itself contains would end the block too early.
  const longest = Math.max(2, ...(bash.output.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  let text = `The user ran \`${bash.command}\`\n${bash.output === "" ? "(no output)" : `${fence}\n${bash.output}\n${fence}`}`;
  if (bash.cancelled) text += "\nThe command was cancelled.";
  else if (bash.exitCode) text += `\nThe command ended with exit code ${bash.exitCode}.`;
  if (bash.truncated) text += bash.fullOutputPath ? `\nThe output was cut; all of it is in ${bash.fullOutputPath}.` : "\nThe output was cut.";
  return text;
}

const summary = (lead, text) => `${lead}\n<summary>\n${text}\n</summary>`;

/** What is not of a model's world becomes a message of the user, or is left out. */
export function convertToLlm(messages) {
  return messages.flatMap((message) => {
    switch (message.role) {
      case "user": case "assistant": case "toolResult": return [message];
      case "bashExecution": return message.excludeFromContext ? [] : [asText(bashExecutionToText(message), message)];
      case "custom": return [{ role: "user", content: typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content, timestamp: message.timestamp }];
      case "branchSummary": return [asText(summary("What happened on a branch of this conversation that was left:", message.summary), message)];
      case "compactionSummary": return [asText(summary("The conversation before this point, in summary:", message.summary), message)];
      default: return [];
    }
  });
}

const MOST = 2000;
const words = (content) => (typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join(""));

/** A conversation to be summarised; long results of tools are cut. */
export function serializeConversation(messages) {
  const parts = [];
  for (const message of messages) {
    if (message.role === "user") {
      const text = words(message.content);
      if (text) parts.push(`[User]: ${text}`);
    } else if (message.role === "assistant") {
      const pick = (type, member) => message.content.filter((block) => block.type === type).map((block) => block[member]);
      const thinking = pick("thinking", "thinking");
      const text = pick("text", "text");
      const calls = message.content.filter((block) => block.type === "toolCall").map((call) => `${call.name}(${Object.entries(call.arguments ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`);
      if (thinking.length > 0) parts.push(`[Assistant thinking]: ${thinking.join("\n")}`);
      if (text.length > 0) parts.push(`[Assistant]: ${text.join("\n")}`);
      if (calls.length > 0) parts.push(`[Assistant tool calls]: ${calls.join("; ")}`);
    } else if (message.role === "toolResult") {
      const text = words(message.content);
      if (text) parts.push(`[Tool result]: ${text.length > MOST ? `${text.slice(0, MOST)}\n\n[... ${text.length - MOST} more characters truncated]` : text}`);
    }
  }
  return parts.join("\n\n");
}
