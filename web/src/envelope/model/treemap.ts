/**
 * The window as a tree: kind, then source, then item. `areas.ts` lays it out.
 *
 * The parts always sum up to the whole: the tokens of a segment that lists things are divided among them by length, and no token is
 * lost or made.
 */

import { divide, tokens } from "./count";
import type { ContextSource, Envelope, Kind, ListedTool, Of, Segment, Tokens } from "./format";
import { entries, KINDS } from "./format";
import { originText, ours } from "./ours";
import { shortest } from "./paths";
import { weight } from "./text";

/** What can be switched, and how: through `set_context_source`, or a list of tools through `set_active_tools`. */
export type Switch = { type: "source"; sourceId: string; enabled: boolean } | { type: "tools"; tools: string[] };

export interface Item {
  /** Unique in the tree. */
  key: string;
  name: string;
  tokens: number;
  /** The segment that it is, or is part of. */
  index: number;
  switch?: Switch;
  /** It was in this request, and is not in the next. */
  isOff?: true;
}

export interface Source {
  key: string;
  /** `file:AGENTS.md` */
  name: string;
  tokens: number;
  items: Item[];
  switch?: Switch;
}

export interface Branch {
  kind: Kind;
  tokens: number;
  sources: Source[];
}

/** What the server says can be switched; empty for a file. */
export interface Switchable {
  sources: readonly ContextSource[];
  tools: readonly ListedTool[];
}

export function tree(envelope: Envelope, switchable: Switchable = { sources: [], tools: [] }): Branch[] {
  const branches = new Map<Kind, Map<string, Source>>();
  const calls = callTargets(envelope);
  const listed = entries(envelope);
  const files = shortest(listed.flatMap(({ segment }) => pathsOf(segment)));
  for (const { segment, index } of listed) {
    const sources = branches.get(segment.kind) ?? new Map<string, Source>();
    branches.set(segment.kind, sources);
    const name = originText(ours(segment).origin);
    const source = sources.get(name) ?? { key: `${segment.kind}/${name}`, name, tokens: 0, items: [] };
    sources.set(name, source);
    source.tokens += tokens(segment).count;
    for (const item of itemsOf(segment, index, switchable, title(segment, calls))) {
      source.items.push({ ...item, name: files.get(item.name) ?? item.name });
    }
    const whole = switchOfSource(segment, switchable);
    if (whole !== undefined) {
      source.switch = whole;
    }
  }
  return KINDS.flatMap((kind) => {
    const found = branches.get(kind);
    if (found === undefined) {
      return [];
    }
    const sources = [...found.values()].map((source) => ({ ...source, items: [...source.items].sort(larger) }));
    sources.sort(larger);
    return [{ kind, tokens: sources.reduce((all, source) => all + source.tokens, 0), sources }];
  }).sort(larger);
}

/** Something that can be switched, as the server has it now. */
export interface SwitchRow {
  key: string;
  kind: Kind;
  name: string;
  isOn: boolean;
  /** What a turn takes less without it, or more with it, as the server reckons it now. */
  tokens: Tokens | undefined;
  change: Switch;
}

const KIND_OF = { skill: "skills", memory: "memory", tools: "tool_overview" } as const satisfies Record<ContextSource["kind"], Kind>;

/**
 * One row for each source and each tool, the largest first. All of it is told by the server and nothing by the envelope, which shows an
 * earlier request: what was just turned off can be turned on again before the next one, and what goes with it (a frame, lines and
 * rules in the system prompt) depends on what else is on by now.
 */
export function switchRows({ sources, tools }: Switchable): SwitchRow[] {
  const active = tools.filter(isActive).map((tool) => tool.name);
  const isSetOn = (tool: ListedTool) => sources.find(({ sourceId }) => sourceId === setOf(tool))?.enabled ?? true;
  const files = shortest(sources.flatMap(({ kind, path }) => (kind === "memory" && path !== undefined ? [path] : [])));
  const rows = [
    ...sources.map(({ sourceId, kind, name, path, enabled, tokens }): SwitchRow => {
      const change = { type: "source", sourceId, enabled: !enabled } as const;
      return { key: sourceId, kind: KIND_OF[kind], name: files.get(path ?? "") ?? name, isOn: enabled, tokens, change };
    }),
    ...tools.filter(isSetOn).map((tool): SwitchRow => {
      const { name, tokens } = tool;
      return { key: `tool ${name}`, kind: "tool_overview", name, isOn: isActive(tool), tokens, change: switchOfTool(tool, active) };
    }),
  ];
  return rows.sort((one, other) => (other.tokens?.count ?? 0) - (one.tokens?.count ?? 0) || (one.key < other.key ? -1 : 1));
}

function isActive(tool: ListedTool): boolean {
  return tool.active ?? true;
}

/** The source that a tool is switched with. */
function setOf({ sourceId, source }: ListedTool): string {
  return sourceId ?? `tools:${source ?? "builtin"}`;
}

function switchOfTool(tool: ListedTool, active: readonly string[]): Switch {
  const others = active.filter((one) => one !== tool.name);
  return { type: "tools", tools: isActive(tool) ? others : [...others, tool.name] };
}

/** Context files are called by their paths. */
function pathsOf(segment: Segment): string[] {
  const { origin } = ours(segment);
  return segment.kind === "memory" && origin?.from === "file" ? segment.items.flatMap(({ title }) => (title === origin.path ? [title] : [])) : [];
}

function itemsOf(segment: Segment, index: number, switchable: Switchable, name: string): Item[] {
  const { count } = tokens(segment);
  const parts = listed(segment);
  if (parts === undefined) {
    const source = switchOfSource(segment, switchable);
    return [{ key: String(index), name, tokens: count, index, ...switched(source, isOff(source)) }];
  }
  const shares = divide(count, parts.map((part) => part.weight));
  const isAllOff = isOff(switchOfSource(segment, switchable));
  const switchOf = switcher(segment, switchable);
  return parts.map((part, place) => {
    const found = switchOf(part.name);
    return { key: `${index}/${place}`, name: part.name, tokens: shares[place] ?? 0, index, ...switched(found?.change, isAllOff || (found?.isOff ?? false)) };
  });
}

/** Whether what would turn it on is what is left to do. */
function isOff(change: Switch | undefined): boolean {
  return change?.type === "source" && change.enabled;
}

function switched(change: Switch | undefined, off: boolean): Pick<Item, "switch" | "isOff"> {
  return { ...(change && { switch: change }), ...(off && { isOff: true }) };
}

/** The things that a segment lists, as long as they are. */
function listed(segment: Segment): { name: string; weight: number }[] | undefined {
  switch (segment.kind) {
    case "memory":
      return segment.items.map((item) => ({ name: item.title, weight: weight(item.title + item.content) }));
    case "skills":
      return segment.items.map((item, place) => ({ name: item.name, weight: weight(item.name + item.description + markupOf(segment, place)) }));
    case "tool_overview":
      return segment.items.map((item) => {
        const parameters = item.schema === undefined ? item.parameters : JSON.stringify(item.schema);
        return { name: item.name, weight: weight(item.name + item.description + parameters) };
      });
    default:
      return undefined;
  }
}

/** What is written around the name and the description of a skill, such as where it lies: it belongs to the line on which it stands. */
function markupOf(segment: Of<"skills">, place: number): string {
  const { frame } = ours(segment);
  if (frame?.length !== segment.items.length * 2 + 1) {
    return "";
  }
  const [before = "", between = "", behind = ""] = frame.slice(place * 2);
  const end = behind.indexOf("\n");
  return before.slice(before.lastIndexOf("\n") + 1) + between + (end === -1 ? behind : behind.slice(0, end));
}

/** The tokens of the things that a segment lists; their sum is that of the segment. */
export function itemTokens(segment: Segment): number[] {
  return divide(tokens(segment).count, (listed(segment) ?? []).map((part) => part.weight));
}

/** What calls of tools are about, by their ids. */
export type CallTargets = ReadonlyMap<string, string>;

const targets = new WeakMap<Envelope, CallTargets>();

/** What the calls in an envelope are about: their results are told apart by it. */
export function callTargets(envelope: Envelope): CallTargets {
  let found = targets.get(envelope);
  if (found === undefined) {
    const read = entries(envelope).flatMap(({ segment }) => {
      const { call } = ours(segment);
      return segment.kind === "tool_call_request" && call !== undefined ? [[call, targetOf(segment.arguments)] as const] : [];
    });
    found = new Map(read);
    targets.set(envelope, found);
  }
  return found;
}

/** Members that say what a call is about, the most telling first. */
const TELLING = ["command", "path", "file_path", "filePath", "pattern", "query", "url", "name"];

/** What a call is about in a few words: a path, a command, or else whatever it says first. */
function targetOf(given: unknown): string {
  const members: Record<string, unknown> = typeof given === "object" && given !== null && !Array.isArray(given) ? { ...given } : {};
  const [first] = Object.values(members).filter((value) => typeof value === "string" && value !== "");
  const told = TELLING.map((name) => members[name]).find((value) => typeof value === "string" && value !== "") ?? first;
  return typeof told === "string" ? begin(told, 60) : "";
}

/** A segment in a few words. Results of tools say what they are about where their calls are known. */
export function title(segment: Segment, calls?: CallTargets): string {
  switch (segment.kind) {
    case "static_var":
      return segment.name;
    case "tool_call_request":
      return `${segment.toolName} ${targetOf(segment.arguments)}`.trim();
    case "tool_call_result":
      return `${segment.toolName} ${calls?.get(ours(segment).call ?? "") ?? ""}`.trim();
    case "document":
      return segment.fileName;
    case "media":
      return segment.altText ?? segment.mediaType;
    case "text":
    case "system_prompt":
    case "long_text":
      return begin(segment.content, 60);
    case "memory":
      return segment.items.map((item) => item.title).join(", ");
    case "skills":
    case "tool_overview":
      return begin(segment.items.map((item) => item.name).join(", "), 80);
  }
}

/** The first words of a text, on one line. */
export function begin(text: string, length: number): string {
  // Of a text of megabytes only the beginning is looked at.
  const line = text.slice(0, length * 8).replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join("")}…`;
}

function switchOfSource(segment: Segment, { sources, tools }: Switchable): Switch | undefined {
  const sourceId = sourceIdOf(segment, tools);
  const found = sources.find((source) => source.sourceId === sourceId);
  return found && { type: "source", sourceId: found.sourceId, enabled: !found.enabled };
}

function sourceIdOf(segment: Segment, tools: readonly ListedTool[]): string | undefined {
  if (segment.kind === "memory") {
    return ours(segment).id?.replace(/^system\//, "");
  }
  if (segment.kind !== "tool_overview") {
    return undefined;
  }
  const names = new Set(segment.items.map(({ name }) => name));
  const tool = tools.find(({ name }) => names.has(name));
  return tool === undefined ? undefined : setOf(tool);
}

/** What can be done with each of the things that a segment lists, by their names. */
function switcher(segment: Segment, { sources, tools }: Switchable): (name: string) => { change: Switch; isOff: boolean } | undefined {
  const ofSource = (found: Switch | undefined) => found && { change: found, isOff: isOff(found) };
  switch (segment.kind) {
    case "skills": {
      const skills = new Map(sources.map((source) => [source.sourceId, source]));
      return (name) => {
        const found = skills.get(`skill:${name}`);
        return ofSource(found && { type: "source", sourceId: found.sourceId, enabled: !found.enabled });
      };
    }
    case "tool_overview": {
      const active = tools.filter(isActive).map((tool) => tool.name);
      const byName = new Map(tools.map((tool) => [tool.name, tool]));
      return (name) => {
        const tool = byName.get(name);
        return tool && { change: switchOfTool(tool, active), isOff: !isActive(tool) };
      };
    }
    case "memory": {
      const whole = ofSource(switchOfSource(segment, { sources, tools }));
      return () => whole;
    }
    default:
      return () => undefined;
  }
}

function larger(one: { tokens: number }, other: { tokens: number }): number {
  return other.tokens - one.tokens;
}
