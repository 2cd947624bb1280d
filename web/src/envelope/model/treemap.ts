/**
 * The window as a tree: kind, then source, then item. `areas.ts` lays it out.
 *
 * The parts always sum up to the whole: the tokens of a segment that lists things are divided among them by length, and no token is
 * lost or made.
 */

import { divide, estimated, tokens } from "./count";
import type { ContextSource, Envelope, Kind, ListedTool, Segment } from "./format";
import { entries, KINDS } from "./format";
import { originText, ours } from "./ours";
import { sent, weight } from "./text";

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
  for (const { segment, index } of entries(envelope)) {
    const sources = branches.get(segment.kind) ?? new Map<string, Source>();
    branches.set(segment.kind, sources);
    const name = originText(ours(segment).origin);
    const source = sources.get(name) ?? { key: `${segment.kind}/${name}`, name, tokens: 0, items: [] };
    sources.set(name, source);
    source.tokens += tokens(segment).count;
    for (const item of itemsOf(segment, index, switchable, title(segment, calls))) {
      source.items.push(item);
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
  /** What it takes in every turn, as far as that is known. */
  tokens: number | undefined;
  /** It takes more than that: what the prompt says of it elsewhere nobody can tell apart. */
  isLeast: boolean;
  change: Switch;
}

const KIND_OF = { skill: "skills", memory: "memory", tools: "tool_overview" } as const satisfies Record<ContextSource["kind"], Kind>;

/**
 * One row for each source and each tool. What is on is told by the server and not by the envelope, which shows an earlier request: what was
 * just turned off can be turned on again before the next one. A set of tools takes what those of it take that are on.
 */
export function switchRows(envelope: Envelope, branches: readonly Branch[], { sources, tools }: Switchable): SwitchRow[] {
  const found = branches.flatMap((branch) => branch.sources);
  const ofSource = (id: string) => {
    const isIt = (it: { switch?: Switch }) => it.switch?.type === "source" && it.switch.sourceId === id;
    return (found.find(isIt) ?? found.flatMap((source) => source.items).find(isIt))?.tokens;
  };
  const listedTools = branches.filter(({ kind }) => kind === "tool_overview").flatMap((branch) => branch.sources.flatMap((source) => source.items));
  const lines = toolLines(envelope);
  const active = tools.filter((tool) => tool.active ?? true).map((tool) => tool.name);
  const isSetOn = (tool: ListedTool) => sources.find(({ sourceId }) => sourceId === `tools:${tool.source}`)?.enabled ?? true;
  // What was not sent has at least its name and its description.
  const ofTool = ({ name, description }: ListedTool): Taken => {
    const item = listedTools.find((one) => one.name === name);
    const line = lines.get(name);
    return item === undefined ? { tokens: estimated(name + description), isLeast: true } : { tokens: item.tokens + (line ?? 0), isLeast: line !== undefined };
  };
  const ofSet = (sourceId: string, told: number | undefined): Taken => {
    const set = tools.filter((tool) => `tools:${tool.source}` === sourceId && active.includes(tool.name));
    const taken = set.map(ofTool);
    const isSent = set.every(({ name }) => listedTools.some((item) => item.name === name));
    return isSent || told === undefined ? { tokens: taken.reduce((sum, one) => sum + one.tokens, 0), isLeast: taken.some((one) => one.isLeast) } : { tokens: told, isLeast: true };
  };
  const rows = [
    ...sources.map(({ sourceId, kind, name, enabled, tokens: told }): SwitchRow => {
      const change = { type: "source", sourceId, enabled: !enabled } as const;
      const taken = kind === "tools" && tools.length > 0 ? ofSet(sourceId, told?.count) : { tokens: ofSource(sourceId) ?? told?.count, isLeast: false };
      return { key: sourceId, kind: KIND_OF[kind], name, isOn: enabled, ...taken, change };
    }),
    ...tools.filter(isSetOn).map((tool): SwitchRow => {
      const { name } = tool;
      const isOn = active.includes(name);
      const others = active.filter((one) => one !== name);
      const change: Switch = { type: "tools", tools: isOn ? others : [...others, name] };
      return { key: `tool ${name}`, kind: "tool_overview", name, isOn, ...ofTool(tool), change };
    }),
  ];
  return rows.sort((one, other) => (other.tokens ?? 0) - (one.tokens ?? 0) || (one.key < other.key ? -1 : 1));
}

interface Taken {
  tokens: number;
  isLeast: boolean;
}

/**
 * What the lines take that the system prompt has of tools, by their names. Rules that come with a tool stand among others, and go with it
 * as well; which they are is not told.
 */
function toolLines(envelope: Envelope): Map<string, number> {
  const found = new Map<string, number>();
  for (const { segment } of entries(envelope)) {
    if (segment.kind === "system_prompt" && ours(segment).id === "system/tools") {
      const lines = sent(segment).split("\n");
      divide(tokens(segment).count, lines.map(weight)).forEach((share, index) => {
        const name = /^- ([^\s:]+): /.exec(lines[index] ?? "")?.[1];
        if (name !== undefined) {
          found.set(name, share);
        }
      });
    }
  }
  return found;
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
      return segment.items.map((item) => ({ name: item.name, weight: weight(item.name + item.description) }));
    case "tool_overview":
      return segment.items.map((item) => {
        const parameters = item.schema === undefined ? item.parameters : JSON.stringify(item.schema);
        return { name: item.name, weight: weight(item.name + item.description + parameters) };
      });
    default:
      return undefined;
  }
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

function switchOfSource(segment: Segment, { sources }: Switchable): Switch | undefined {
  const { id, origin } = ours(segment);
  const wanted = () => {
    switch (segment.kind) {
      case "memory":
        return id?.replace(/^system\//, "");
      case "tool_overview":
        switch (origin?.from) {
          case "built_in":
            return "tools:builtin";
          case "extension":
            return `tools:${origin.id}`;
          case "mcp":
            return `tools:${origin.server}`;
          default:
            return undefined;
        }
      default:
        return undefined;
    }
  };
  const sourceId = wanted();
  const found = sources.find((source) => source.sourceId === sourceId);
  return found && { type: "source", sourceId: found.sourceId, enabled: !found.enabled };
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
      const active = tools.filter((tool) => tool.active ?? true).map((tool) => tool.name);
      const listedTools = new Set(tools.map((tool) => tool.name));
      return (name) => {
        const isActive = active.includes(name);
        const change: Switch = { type: "tools", tools: isActive ? active.filter((tool) => tool !== name) : [...active, name] };
        return listedTools.has(name) ? { change, isOff: !isActive } : undefined;
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
