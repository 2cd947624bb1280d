// What a session of an extension's own is told besides what it is asked: files of the project for agents, and a prompt. Skills,
// prompts and themes are the host's business; a loader of them here is empty unless an override fills it.
import host from "pi:host";

const NAMES = ["AGENTS.md", "CLAUDE.md"];

/** The files for agents of a folder and those above it, outermost first, as far as they may be read. */
function agentsFilesOf(cwd, agentDir) {
  const { dirname, join } = host.load("pi:shim/node/path");
  const { default: fs } = host.load("pi:shim/node/fs");
  const inFolder = (folder) => {
    for (const path of NAMES.map((name) => join(folder, name))) {
      try {
        return [{ path, content: fs.readFileSync(path, "utf8") }];
      } catch (fault) {
        if (fault?.code === undefined) throw fault;
      }
    }
    return [];
  };
  const folders = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (dirname(folder) === folder) break;
  }
  return [agentDir, ...folders].flatMap(inFolder);
}

const listOf = (given) => (given === undefined ? [] : [given].flat());

export class DefaultResourceLoader {
  #options;
  #agentsFiles = [];
  constructor(options = {}) { this.#options = { cwd: host.place.cwd, agentDir: host.place.agentDir, ...options }; }
  async reload() {
    const { cwd, agentDir, noContextFiles } = this.#options;
    this.#agentsFiles = noContextFiles ? [] : agentsFilesOf(cwd, agentDir);
  }
  #over(name, base) { return this.#options[name]?.(base) ?? base; }
  getExtensions() { return this.#over("extensionsOverride", { extensions: [], errors: [], runtime: createExtensionRuntime() }); }
  getSkills() { return this.#over("skillsOverride", { skills: [], diagnostics: [] }); }
  getPrompts() { return this.#over("promptsOverride", { prompts: [], diagnostics: [] }); }
  getThemes() { return this.#over("themesOverride", { themes: [], diagnostics: [] }); }
  getAgentsFiles() { return this.#over("agentsFilesOverride", { agentsFiles: this.#agentsFiles }); }
  getSystemPrompt() { return this.#over("systemPromptOverride", this.#options.systemPrompt); }
  getAppendSystemPrompt() { return this.#over("appendSystemPromptOverride", listOf(this.#options.appendSystemPrompt)); }
  extendResources() {}
}

/** Of extensions in a session of an extension's own there are none. */
export const createExtensionRuntime = () => ({ flagValues: new Map(), pendingProviderRegistrations: [] });

/** The prompt of a session: what its loader says, and where it is. */
export function systemPromptOf(loader, tools, cwd) {
  const own = loader.getSystemPrompt?.() ?? `You are a coding agent. You help with the files of a project and use your tools where they help${tools.length > 0 ? `: ${tools.map(({ name }) => name).join(", ")}` : ""}. Be brief, and name files by their paths.`;
  const files = (loader.getAgentsFiles?.().agentsFiles ?? []).map(({ path, content }) => `## ${path}\n\n${content}`);
  const { skills = [] } = loader.getSkills?.() ?? {};
  const known = skills.length > 0 ? host.load("pi:shim/pi/coding-agent").formatSkillsForPrompt(skills).trim() : "";
  const parts = [own, ...(loader.getAppendSystemPrompt?.() ?? []), files.length > 0 ? `# Project Context\n\n${files.join("\n\n")}` : "", known];
  return `${parts.filter((part) => part).join("\n\n")}\n\nCurrent working directory: ${cwd}`;
}
