// @mariozechner/pi-coding-agent and @earendil-works/pi-coding-agent. Not here: the application itself (modes, selectors,
// authentication, package management), whose names are stubs that say so.
import host from "pi:host";

export { BorderedLoader, AssistantMessageComponent, CustomEditor, CustomMessageComponent, DynamicBorder, keyHint, keyText, rawKeyHint, ToolExecutionComponent, UserMessageComponent } from "pi:shim/pi/coding-agent/components";
export { calculateContextTokens, compact, DEFAULT_COMPACTION_SETTINGS, estimateTokens, findCutPoint, findTurnStartIndex, generateSummary, getLastAssistantUsage, shouldCompact } from "pi:shim/pi/coding-agent/compaction";
export { buildSessionContext, CURRENT_SESSION_VERSION, getLatestCompactionEntry, migrateSessionEntries, parseSessionEntries } from "pi:shim/pi/coding-agent/entries";
export { parseFrontmatter, parseSkillBlock, stripFrontmatter } from "pi:shim/pi/coding-agent/frontmatter";
export { convertToLlm, serializeConversation } from "pi:shim/pi/coding-agent/messages";
export { createLocalBashOperations, getShellConfig } from "pi:shim/pi/coding-agent/operations";
export { createExtensionRuntime, DefaultResourceLoader } from "pi:shim/pi/coding-agent/resources";
export { AuthStorage, ModelRegistry } from "pi:shim/pi/coding-agent/registry";
export { getAgentDir, getDefaultSessionDir, SessionManager } from "pi:shim/pi/coding-agent/sessions";
export { SettingsManager } from "pi:shim/pi/coding-agent/settings";
export { getEditorTheme, getLanguageFromPath, getMarkdownTheme, getSelectListTheme, getSettingsListTheme, highlightCode, initTheme, Theme } from "pi:shim/pi/coding-agent/theme";
export {
  createBashTool, createBashToolDefinition, createCodingTools, createEditTool, createEditToolDefinition, createFindTool, createFindToolDefinition, createGrepTool, createGrepToolDefinition, createLsTool, createLsToolDefinition,
  createReadOnlyTools, createReadTool, createReadToolDefinition, createWriteTool, createWriteToolDefinition, defineTool, withFileMutationQueue,
} from "pi:shim/pi/coding-agent/tools";
export { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail, truncateToVisualLines } from "pi:shim/pi/coding-agent/truncate";
export { KeybindingsManager } from "pi:shim/pi/tui/bindings";

/** A session of the extension's own. */
export const createAgentSession = async (options) => host.load("pi:shim/pi/coding-agent/agent-session").createAgentSession(options);

export const VERSION = host.place.versions.pi;

/** Where a project keeps what is Pi's. */
export const CONFIG_DIR_NAME = ".pi";

export const renderDiff = (text) => host.load("pi:shim/pi/coding-agent/diff").renderDiff(text, host.load("pi:shim/pi/coding-agent/theme").currentTheme());

/** Which tool an event is about. */
export const isToolCallEventType = (name, event) => event.toolName === name;
const isResultOf = (name) => (event) => event.toolName === name;
export const isBashToolResult = isResultOf("bash");
export const isReadToolResult = isResultOf("read");
export const isWriteToolResult = isResultOf("write");
export const isEditToolResult = isResultOf("edit");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");

/** Programs that put text into the clipboard of the machine, the first that is there. */
export async function copyToClipboard(text) {
  const { spawnSync } = host.load("pi:shim/node/child_process");
  const programs = { darwin: [["pbcopy"]], win32: [["clip"]] }[host.place.platform] ?? [["wl-copy"], ["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]];
  for (const [program, ...args] of programs) {
    const { error, status } = spawnSync(program, args, { input: text, timeout: 5000 });
    if (!error && status === 0) return;
  }
  throw new Error(`no program for the clipboard: install ${programs.map(([program]) => program).join(" or ")}`);
}

export function createEventBus() {
  const listeners = new Map();
  return {
    emit(channel, data) {
      for (const listener of listeners.get(channel) ?? []) {
        Promise.resolve().then(() => listener(data)).catch((fault) => host.write("stderr", `Event handler error (${channel}): ${fault?.stack ?? fault}\n`));
      }
    },
    on(channel, listener) {
      const list = listeners.get(channel) ?? new Set();
      listeners.set(channel, list.add(listener));
      return () => list.delete(listener);
    },
    clear: () => listeners.clear(),
  };
}

export const createSyntheticSourceInfo = (path, { source, scope = "temporary", origin = "top-level", baseDir }) => ({ path, source, scope, origin, baseDir });
export const formatSkillsForPrompt = (skills) => {
  const visible = skills.filter((skill) => !skill.disableModelInvocation);
  if (visible.length === 0) return "";
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;").replace(/'/g, "&apos;");
  const item = ({ name, description, filePath }) => `  <skill>\n    <name>${escape(name)}</name>\n    <description>${escape(description)}</description>\n    <location>${escape(filePath)}</location>\n  </skill>`;
  return `\n\n<available_skills>\n${visible.map(item).join("\n")}\n</available_skills>`;
};

export default { [Symbol.for("pi.remedy")]: "it belongs to Pi's own application; use the methods of `pi` and `ctx`, or start `pi -p` as a process" };
