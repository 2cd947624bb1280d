/**
 * What was said in a session and is being said: rows that grow, read in pages from the end.
 *
 * What an event costs does not depend on how much was said before, but for the list of rows, which is copied when a message joins it.
 */
import { outputSoFar, type AgentEvent, type AssistantMessageEvent, type Message, type Session } from "pi-client";
import { Calls, toolsOf } from "./calls";
import { type Part, partsOf, TextPart, ThinkingPart, type Tool, ToolPart } from "./parts.svelte";

/** Messages that are read at once: as many as the first screens show, then more. */
const FIRST_PAGE = 120;
const PAGE = 600;
/** As far back a message may stand that was read while events waited, and that an event brings once more. */
const RECENT = 8;

export class Row {
  /** Stays the same as long as the row is shown, also when the entry becomes known. */
  readonly key: number;
  entryId = $state.raw<string | undefined>();
  /** Where the conversation stood before it: the requests that led to it name that entry. */
  previous = $state.raw<string | undefined>();
  message = $state.raw<Message>() as Message;
  parts = $state.raw<readonly Part[]>([]);
  isLive = $state.raw(false);

  constructor(key: number, message: Message) {
    this.key = key;
    this.message = message;
  }
}

type ToolResult = Extract<Message, { role: "toolResult" }>;

interface Item {
  entryId: string | undefined;
  message: Message;
  /** What is shown of it; results of tools are shown with their call. */
  row: Row | undefined;
}

/** The events that change what was said. */
export type Saying = Extract<
  AgentEvent,
  { type: "message_start" | "message_update" | "message_end" | "tool_execution_start" | "tool_execution_update" | "tool_execution_end" }
>;

export class Messages {
  rows = $state.raw<readonly Row[]>([]);
  isLoaded = $state.raw(false);
  hasOlder = $state.raw(false);
  isLoadingOlder = $state.raw(false);
  /** Counts what may have changed files: calls that are done, and messages that were read. */
  done = $state.raw(0);
  private items: Item[] = [];
  private readonly calls = new Calls();
  /** Results whose calls stand above what was read. */
  private orphans: ToolResult[] = [];
  private live: Row | undefined;
  private keys = 0;
  /** Counts readings, so that one that was overtaken changes nothing. */
  private reading = 0;
  /** Text that was added in this frame; set once, however many deltas brought it. */
  private readonly added = new Map<TextPart | ThinkingPart, string[]>();

  constructor(private readonly session: Session) {}

  /** Whether an answer is being written. */
  get isGrowing(): boolean {
    return this.live !== undefined;
  }

  /** How many were read. */
  get count(): number {
    return this.items.length;
  }

  /** When the first of those that were read was said. */
  get since(): number {
    return this.items[0]?.message.timestamp ?? Number.POSITIVE_INFINITY;
  }

  /** The entry of what was said last. */
  get last(): string | undefined {
    return this.items.at(-1)?.entryId;
  }

  has(entryId: string): boolean {
    return this.items.some((item) => item.entryId === entryId);
  }

  /** Reads the end of the conversation anew. False if another reading has overtaken this one. */
  async read(partial?: Message): Promise<boolean> {
    this.reading += 1;
    this.isLoadingOlder = false;
    const reading = this.reading;
    const { data } = await this.session.request({ type: "get_messages", limit: FIRST_PAGE });
    if (reading !== this.reading) {
      return false;
    }
    this.calls.follow([]);
    this.orphans = [];
    this.items = data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]));
    this.hasOlder = data.hasMore === true;
    this.live = undefined;
    const last = this.items.at(-1);
    this.showRows();
    if (partial?.role === "assistant" && !(last !== undefined && isSame(last.message, partial))) {
      this.beginAnswer(partial);
    }
    this.isLoaded = true;
    return true;
  }

  /** Reads what stands above, once at a time. False if a reading has overtaken this one, above whose beginning nothing was read yet. */
  async readOlder(): Promise<boolean> {
    const first = this.items[0]?.entryId;
    if (!this.hasOlder || first === undefined) {
      return true;
    }
    this.isLoadingOlder = true;
    const reading = this.reading;
    try {
      const { data } = await this.session.request({ type: "get_messages", before: first, limit: PAGE });
      if (reading !== this.reading || first !== this.items[0]?.entryId) {
        return false;
      }
      const orphans = this.orphans.splice(0);
      this.calls.follow([]);
      const older = data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]));
      orphans.forEach((result) => this.finish(result));
      this.items = [...older, ...this.items];
      this.calls.follow(rowsOf(this.items));
      this.hasOlder = data.hasMore === true;
      this.showRows();
      return true;
    } finally {
      this.isLoadingOlder = false;
    }
  }

  /**
   * After a run: entries get their ids, and whatever was missed is corrected. `later` if something new began, whose end settles this
   * as well; `lost` if everything has to be read anew. An answer may overtake events: whoever doubts what nobody told of yet is told
   * that it is `ahead`, and asks again when the events have had time to come.
   */
  async settle(isWorking: () => boolean, untold: "taken" | "doubted" = "taken"): Promise<"settled" | "later" | "lost" | "ahead"> {
    const after = this.items.findLast((item) => item.entryId !== undefined)?.entryId;
    const reading = this.reading;
    if (after === undefined) {
      return "lost";
    }
    const { data } = await this.session.request({ type: "get_messages", after, limit: PAGE });
    if (reading !== this.reading || isWorking() || this.live !== undefined) {
      return "later";
    }
    // A reading that was under way, or one of what stands above, may have moved it: what was told follows that entry, not that place.
    const at = this.placeOf(after);
    if (at === -1) {
      return "lost";
    }
    const tail = this.items.slice(at + 1);
    if (untold === "doubted" && data.messages.length > tail.length) {
      return "ahead";
    }
    const fits = tail.length === data.messages.length && tail.every((item, index) => isSame(item.message, data.messages[index]));
    if (data.hasMore === true || (data.messages.length === 0 && tail.length > 0)) {
      return "lost";
    }
    if (fits) {
      tail.forEach((item, index) => name(item, data.entryIds?.[index]));
    } else {
      const before = this.items.slice(0, at + 1);
      this.calls.follow(rowsOf(before), rowsOf(tail));
      this.items = [...before, ...data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]))];
    }
    this.showRows();
    return "settled";
  }

  /**
   * During a run: what is written by now gets its entry, so that the request that led to an answer is found before the run ends.
   * What does not fit is left to {@link settle}.
   */
  async nameWritten(): Promise<void> {
    const after = this.items.findLast((item) => item.entryId !== undefined)?.entryId;
    const reading = this.reading;
    if (after === undefined && this.hasOlder) {
      return;
    }
    const { data } = await this.session.request({ type: "get_messages", limit: PAGE, ...(after === undefined ? {} : { after }) });
    if (reading !== this.reading || (after === undefined && data.hasMore === true)) {
      return;
    }
    const at = this.placeOf(after);
    // See `settle`. Where nothing had an entry, nothing may have one now.
    if (after === undefined ? this.items[0]?.entryId !== undefined : at === -1) {
      return;
    }
    let previous = after;
    for (const [index, item] of this.items.slice(at + 1).entries()) {
      if (item.row !== undefined) {
        item.row.previous = previous;
      }
      const entryId = data.entryIds?.[index];
      if (entryId === undefined || !isSame(item.message, data.messages[index])) {
        return;
      }
      name(item, entryId);
      previous = entryId;
    }
  }

  /** Takes up an event. Text shows when the frame ends, or something else follows. */
  hear(event: Saying): void {
    if (event.type === "message_update") {
      return this.grow(event.assistantMessageEvent);
    }
    this.endFrame();
    switch (event.type) {
      case "message_start":
        if (event.message.role === "assistant") {
          this.beginAnswer(event.message);
        }
        return;
      case "message_end":
        return this.endMessage(event.message);
      case "tool_execution_start": {
        const tool = this.calls.at(event.toolCallId, event.toolName);
        tool.status = "running";
        tool.startedAt = Date.now();
        return;
      }
      case "tool_execution_update": {
        const tool = this.calls.at(event.toolCallId, event.toolName);
        tool.status = "running";
        tool.startedAt ??= Date.now();
        tool.output = outputSoFar(tool.output, event);
        return;
      }
      case "tool_execution_end": {
        const tool = this.calls.at(event.toolCallId, event.toolName);
        tool.durationMs = tool.startedAt === undefined ? undefined : Date.now() - tool.startedAt;
        tool.finish(event.result, event.isError, event);
        this.done += 1;
        return;
      }
    }
  }

  /** What it waited for was answered: only now it begins. */
  goOn(toolCallId: string | undefined): void {
    const tool = toolCallId === undefined ? undefined : this.calls.find(toolCallId);
    if (tool?.status === "running" || tool?.status === "waiting") {
      tool.status = "running";
      tool.startedAt = Date.now();
    }
  }

  endFrame(): void {
    for (const [part, pieces] of this.added) {
      part.add(pieces.join(""));
    }
    this.added.clear();
  }

  /** The run is over; a tool that has not said so by now will not. */
  endRun(): void {
    this.endFrame();
    this.live = undefined;
    for (const tool of rowsOf(this.items).flatMap(({ parts }) => toolsOf(parts))) {
      if (tool.status === "running" || tool.status === "waiting" || tool.status === "writing") {
        tool.status = "lost";
      }
    }
  }

  /** Where an entry stands now. */
  private placeOf(entryId: string | undefined): number {
    return entryId === undefined ? -1 : this.items.findLastIndex((item) => item.entryId === entryId);
  }

  private newItem(message: Message, entryId?: string): Item {
    if (message.role === "toolResult") {
      this.finish(message);
      return { entryId, message, row: undefined };
    }
    if (message.role === "system" || (message.role === "custom" && !message.display)) {
      return { entryId, message, row: undefined };
    }
    this.keys += 1;
    const row = new Row(this.keys, message);
    row.entryId = entryId;
    row.parts = partsOf(message, [], (id, name) => this.calls.called(id, name, row.key));
    return { entryId, message, row };
  }

  /** A result is shown with its call, as soon as that is read. */
  private finish(result: ToolResult): void {
    const tool = this.calls.answer(result.toolCallId);
    if (tool === undefined) {
      this.orphans.push(result);
    } else {
      tool.finish({ content: result.content, ...(result.details === undefined ? {} : { details: result.details }) }, result.isError, result);
    }
  }

  private showRows(): void {
    let previous: string | undefined;
    // Stands before what was kept, and was written after it: only what was said since follows it.
    let summary: Item | undefined;
    const rows: Row[] = [];
    for (const item of this.items) {
      const { row, entryId, message } = item;
      if (message.role !== "compactionSummary" && summary !== undefined && message.timestamp >= summary.message.timestamp) {
        previous = summary.entryId ?? previous;
        summary = undefined;
      }
      if (row !== undefined) {
        row.previous = previous;
        rows.push(row);
      }
      if (message.role === "compactionSummary") {
        summary = item;
      } else {
        previous = entryId ?? previous;
      }
    }
    this.rows = rows;
    this.done += 1;
  }

  private append(item: Item): void {
    // Only what was said since the last run ended has no entry yet.
    const previous = this.items.findLast(({ entryId }) => entryId !== undefined)?.entryId;
    this.items.push(item);
    if (item.row !== undefined) {
      item.row.previous = previous;
      this.rows = [...this.rows, item.row];
    }
  }

  private beginAnswer(message: Message): void {
    const item = this.newItem(message);
    const row = item.row as Row;
    row.isLive = true;
    this.append(item);
    // Only where it is known what stands right before it, the request is known that leads to it; see `nameWritten`.
    row.previous = this.items.at(-2)?.entryId;
    this.live = row;
  }

  private add(part: TextPart | ThinkingPart, delta: string): void {
    const pieces = this.added.get(part);
    if (pieces === undefined) {
      this.added.set(part, [delta]);
    } else {
      pieces.push(delta);
    }
  }

  private grow(event: AssistantMessageEvent): void {
    const row = this.live;
    if (row === undefined || !("contentIndex" in event)) {
      return;
    }
    const index = event.contentIndex;
    const put = (part: Part) => {
      const parts = [...row.parts];
      parts[index] = part;
      row.parts = parts;
    };
    const part = row.parts[index];
    switch (event.type) {
      case "text_start":
        return put(part?.type === "text" ? part : new TextPart());
      case "text_delta":
        if (part?.type === "text") {
          this.add(part, event.delta);
        } else {
          put(new TextPart(event.delta));
        }
        return;
      case "text_end":
        this.endFrame();
        if (part?.type === "text") {
          part.become(event.content);
        }
        return;
      case "thinking_start": {
        const thinking = part?.type === "thinking" ? part : new ThinkingPart();
        thinking.isGrowing = true;
        return put(thinking);
      }
      case "thinking_delta":
        if (part?.type === "thinking") {
          part.isGrowing = true;
          this.add(part, event.delta);
        } else {
          put(new ThinkingPart(event.delta));
        }
        return;
      case "thinking_end":
        this.endFrame();
        if (part?.type === "thinking") {
          part.become(event.content);
          part.isGrowing = false;
        }
        return;
      case "toolcall_start": {
        const tool = this.written(row, part, event.id ?? `${row.key}:${index}`, event.toolName ?? "");
        tool.status = "writing";
        return put(new ToolPart(tool));
      }
      case "toolcall_delta":
        if (part?.type === "tool") {
          part.tool.written += event.delta;
        }
        return;
      case "toolcall_end":
        if (event.toolCall.type === "toolCall") {
          const tool = this.written(row, part, event.toolCall.id, event.toolCall.name);
          tool.name = event.toolCall.name;
          tool.args = event.toolCall.arguments;
          tool.status = "waiting";
          put(part?.type === "tool" && part.tool === tool ? part : new ToolPart(tool));
        }
        return;
    }
  }

  /** The call that is being written in this place. */
  private written(row: Row, part: Part | undefined, id: string, name: string): Tool {
    return part?.type === "tool" && part.tool.id === id ? part.tool : this.calls.called(id, name, row.key);
  }

  private endMessage(message: Message): void {
    if (message.role === "assistant" && this.live !== undefined) {
      const row = this.live;
      this.live = undefined;
      row.parts = partsOf(message, row.parts, (id, name) => this.calls.called(id, name, row.key));
      row.message = message;
      row.isLive = false;
      const item = this.items.findLast((candidate) => candidate.row === row);
      if (item !== undefined) {
        item.message = message;
      }
      return;
    }
    // What was read while events waited may hold it already.
    if (this.items.slice(-RECENT).some((item) => isSame(item.message, message))) {
      return;
    }
    this.append(this.newItem(message));
  }
}

function rowsOf(items: readonly Item[]): Row[] {
  return items.flatMap(({ row }) => (row === undefined ? [] : [row]));
}

function name(item: Item, entryId: string | undefined): void {
  item.entryId = entryId;
  if (item.row !== undefined) {
    item.row.entryId = entryId;
  }
}

function isSame(one: Message, other: Message | undefined): boolean {
  return other !== undefined && one.role === other.role && one.timestamp === other.timestamp && JSON.stringify(one) === JSON.stringify(other);
}
