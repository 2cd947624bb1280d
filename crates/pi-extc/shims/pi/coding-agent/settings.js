// SettingsManager: what the settings files say, to be read. Changing them is the person's business: setters change the object
// only.
import host from "pi:host";

const fs = () => host.load("pi:shim/node/fs").default;
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Members of the project win; objects are merged one level deep. */
function merge(one, other) {
  const made = { ...one };
  for (const [key, value] of Object.entries(other)) made[key] = isRecord(value) && isRecord(made[key]) ? { ...made[key], ...value } : value;
  return made;
}

function load(path) {
  try {
    return JSON.parse(fs().readFileSync(path, "utf8"));
  } catch (fault) {
    if (fault.code === "ENOENT" || fault.code === "EACCES") return {};
    throw fault;
  }
}

const DEFAULTS = {
  compaction: { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 }, branchSummary: { reserveTokens: 16384, skipPrompt: false }, retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60000 },
  steeringMode: "one-at-a-time", followUpMode: "one-at-a-time", hideThinkingBlock: false, quietStartup: false, enableSkillCommands: true, transport: "auto", doubleEscapeAction: "tree", treeFilterMode: "default", editorPaddingX: 0,
  autocompleteMaxVisible: 5, packages: [], extensions: [], skills: [], prompts: [], themes: [],
};
const NESTED = {
  CompactionEnabled: ["compaction", "enabled"], CompactionReserveTokens: ["compaction", "reserveTokens"], CompactionKeepRecentTokens: ["compaction", "keepRecentTokens"], RetryEnabled: ["retry", "enabled"], ShowImages: ["terminal", "showImages"],
  ImageAutoResize: ["images", "autoResize"], BlockImages: ["images", "blockImages"], CodeBlockIndent: ["markdown", "codeBlockIndent"], CompactionSettings: ["compaction"], BranchSummarySettings: ["branchSummary"], RetrySettings: ["retry"],
  ExtensionPaths: ["extensions"], SkillPaths: ["skills"], PromptTemplatePaths: ["prompts"], ThemePaths: ["themes"],
};

export class SettingsManager {
  #global;
  #project;
  #overrides = {};
  constructor(global = {}, project = {}) {
    this.#global = global;
    this.#project = project;
    // Every member has its getter and setter, as in Pi: getTheme, setTheme, getDefaultModel …
    return new Proxy(this, {
      get: (target, name) => {
        if (name in target || typeof name !== "string") {
          const own = target[name];
          return typeof own === "function" ? own.bind(target) : own;
        }
        const [, way, rest] = /^(get|set)([A-Z]\w*)$/.exec(name) ?? [];
        if (!way) return undefined;
        const path = NESTED[rest] ?? [rest[0].toLowerCase() + rest.slice(1)];
        return way === "get" ? () => target.#read(path) : (value) => target.applyOverrides(path.length === 2 ? { [path[0]]: { [path[1]]: value } } : { [path[0]]: value });
      },
    });
  }
  static create(cwd = host.place.cwd, agentDir = host.place.agentDir) {
    const { join } = host.load("pi:shim/node/path");
    return new SettingsManager(load(join(agentDir, "settings.json")), load(join(cwd, ".pi", "settings.json")));
  }
  static inMemory(settings = {}) { return new SettingsManager(settings); }
  #read([first, second]) {
    const merged = merge(merge(DEFAULTS, merge(this.#global, this.#project)), this.#overrides);
    return second === undefined ? merged[first] : merged[first]?.[second];
  }
  getGlobalSettings() { return structured(this.#global); }
  getProjectSettings() { return structured(this.#project); }
  applyOverrides(overrides) { this.#overrides = merge(this.#overrides, overrides); }
  async reload() {}
  async flush() {}
  drainErrors() { return []; }
}

const structured = (value) => JSON.parse(JSON.stringify(value));
