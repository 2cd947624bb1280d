// Summaries of long conversations: sizes, places to cut, and the summary itself, which a model writes.
import { completeSimple } from "pi:shim/pi/ai/calls";
import { convertToLlm, serializeConversation } from "pi:shim/pi/coding-agent/messages";

export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

export const calculateContextTokens = (usage) => usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
export const shouldCompact = (tokens, contextWindow, settings) => settings.enabled && tokens > contextWindow - settings.reserveTokens;

export function getLastAssistantUsage(entries) {
  const entry = entries.findLast(({ type, message }) => type === "message" && message.role === "assistant" && message.usage && message.stopReason !== "aborted" && message.stopReason !== "error");
  return entry?.message.usage;
}

const IMAGE = 4800;
const sizeOf = (block) => (block.type === "text" ? block.text.length : block.type === "thinking" ? block.thinking.length : block.type === "image" ? IMAGE : block.type === "toolCall" ? block.name.length + JSON.stringify(block.arguments).length : 0);

/** Four characters are about one token. */
export function estimateTokens(message) {
  if (message.role === "bashExecution") return Math.ceil((message.command.length + message.output.length) / 4);
  if (message.role === "branchSummary" || message.role === "compactionSummary") return Math.ceil(message.summary.length / 4);
  if (typeof message.content === "string") return Math.ceil(message.content.length / 4);
  return Math.ceil((message.content ?? []).reduce((sum, block) => sum + sizeOf(block), 0) / 4);
}

const messageOf = (entry) => (entry.type === "message" ? entry.message : entry.type === "custom_message" ? { role: "custom", content: entry.content } : entry.type === "branch_summary" ? { role: "branchSummary", summary: entry.summary } : undefined);
const startsTurn = (entry) => entry.type === "branch_summary" || entry.type === "custom_message" || (entry.type === "message" && ["user", "bashExecution"].includes(entry.message.role));
const canCut = (entry) => messageOf(entry) !== undefined && messageOf(entry).role !== "toolResult";

export function findTurnStartIndex(entries, index, start) {
  for (let at = index; at >= start; at--) if (startsTurn(entries[at])) return at;
  return -1;
}

/** Where the recent part begins: never at the result of a tool. */
export function findCutPoint(entries, start, end, keepRecentTokens) {
  const places = [];
  for (let at = start; at < end; at++) if (canCut(entries[at])) places.push(at);
  if (places.length === 0) return { firstKeptEntryIndex: start, turnStartIndex: -1, isSplitTurn: false };
  let kept = 0;
  let cut = places[0];
  for (let at = end - 1; at >= start; at--) {
    const message = messageOf(entries[at]);
    if (!message) continue;
    kept += estimateTokens(message);
    if (kept >= keepRecentTokens) {
      cut = places.find((place) => place >= at) ?? places[0];
      break;
    }
  }
  while (cut > start && !messageOf(entries[cut - 1]) && entries[cut - 1].type !== "compaction") cut--;
  const isTurn = startsTurn(entries[cut]);
  const turnStartIndex = isTurn ? -1 : findTurnStartIndex(entries, cut, start);
  return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: !isTurn && turnStartIndex !== -1 };
}

const SYSTEM = "You summarise a conversation between a person and a coding agent, so that another agent can go on with the work. Write the summary only; do not answer what is asked in the conversation.";
const HEADINGS = "Use these headings: ## Goal, ## Constraints & Preferences, ## Progress (### Done, ### In Progress, ### Blocked), ## Key Decisions, ## Next Steps, ## Critical Context. Keep exact names of files, functions and errors.";

export async function generateSummary(messages, model, reserveTokens, apiKey, headers, signal, customInstructions, previousSummary) {
  const conversation = serializeConversation(convertToLlm(messages));
  const before = previousSummary ? `\n\n<previous-summary>\n${previousSummary}\n</previous-summary>\n\nTake over from the previous summary what still matters.` : "";
  const wish = customInstructions ? `\n\nThe person asks in particular: ${customInstructions}` : "";
  const text = `<conversation>\n${conversation}\n</conversation>${before}\n\nSummarise the conversation. ${HEADINGS}${wish}`;
  const answer = await completeSimple(model, { systemPrompt: SYSTEM, messages: [{ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }] }, { maxTokens: Math.floor(0.8 * reserveTokens), signal });
  if (answer.stopReason === "error" || answer.stopReason === "aborted") throw new Error(`Summarization failed: ${answer.errorMessage ?? "Unknown error"}`);
  return answer.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

/** The result that a `session_before_compact` hook can give back. */
export async function compact(preparation, model, apiKey, headers, customInstructions, signal) {
  const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore, previousSummary, fileOps, settings } = preparation;
  const parts = [];
  if (messagesToSummarize.length > 0) parts.push(await generateSummary(messagesToSummarize, model, settings.reserveTokens, apiKey, headers, signal, customInstructions, previousSummary));
  if (isSplitTurn && turnPrefixMessages.length > 0) parts.push(`**Turn Context (split turn):**\n\n${await generateSummary(turnPrefixMessages, model, settings.reserveTokens / 2, apiKey, headers, signal)}`);
  const modified = new Set([...(fileOps?.edited ?? []), ...(fileOps?.written ?? [])]);
  const details = { readFiles: [...(fileOps?.read ?? [])].filter((path) => !modified.has(path)).sort(), modifiedFiles: [...modified].sort() };
  const list = (tag, files) => (files.length > 0 ? `\n\n<${tag}>\n${files.join("\n")}\n</${tag}>` : "");
  return { summary: parts.join("\n\n---\n\n") + list("read-files", details.readFiles) + list("modified-files", details.modifiedFiles), firstKeptEntryId, tokensBefore, details };
}
