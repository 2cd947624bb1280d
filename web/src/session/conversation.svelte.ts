/**
 * One session as the page shows it: what was said, what is being said, what waits for a person.
 *
 * Events are applied once per frame ({@link PerFrame}); what an event costs does not depend on how much was said before. Messages come
 * in pages from the end. What events cannot tell (the entries of messages, what other clients rewrote) is read again when a run settles.
 */
import type {
  AgentEvent,
  Announcement,
  AssistantMessageEvent,
  ContextUsage,
  Message,
  ModelRequest,
  OpenQuestion,
  Queue,
  ServerEvent,
  Session,
  SessionInfo,
  SessionSnapshot,
  SessionStats,
  Span,
} from "pi-client";
import { PerFrame } from "../link/frame";
import { hasCode, link, REWRITES, type Trouble, trouble } from "../link/link.svelte";
import { contentText, type Part, partsOf, TextPart, ThinkingPart, Tool, ToolPart } from "./parts.svelte";

/** Messages that are read at once: as many as the first screens show, then more. */
const FIRST_PAGE = 120;
const PAGE = 600;
const REQUESTS = 200;
/** An epoch that no session has: what there is comes as a snapshot, with the answer that is being written. */
const NO_EPOCH = "-";

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

interface Item {
  entryId: string | undefined;
  message: Message;
  /** What is shown of it; results of tools are shown with their call. */
  row: Row | undefined;
}

export interface Asked {
  question: OpenQuestion;
  /** When it will be too late, if ever. */
  deadline: number | undefined;
}

export interface Drawn {
  requestId: string;
  lines: Span[][];
  width: number;
  placement: string;
}

export interface Notice {
  key: number;
  tone: "info" | "warning" | "error";
  text: string;
  hint: string;
}

/** Something that was sent and that the server has not taken up yet. */
export interface Outgoing {
  key: number;
  text: string;
  imageCount: number;
}

export type Picture = { type: "image"; data: string; mimeType: string };
export type Manner = "prompt" | "steer" | "queue" | "stop";

export class Conversation {
  rows = $state.raw<readonly Row[]>([]);
  isLoaded = $state.raw(false);
  hasOlder = $state.raw(false);
  isLoadingOlder = $state.raw(false);
  problem = $state.raw<Trouble | undefined>();
  /** The server let it go; its file may still be there. */
  isGone = $state.raw(false);

  info = $state.raw<SessionInfo | undefined>();
  isWorking = $state.raw(false);
  stats = $state.raw<SessionStats | undefined>();
  usage = $state.raw<ContextUsage | undefined>();
  queue = $state.raw<Queue>({ revision: 0, items: [] });
  asked = $state.raw<readonly Asked[]>([]);
  drawn = $state.raw<readonly Drawn[]>([]);
  notices = $state.raw<readonly Notice[]>([]);
  outgoing = $state.raw<readonly Outgoing[]>([]);
  /** Commands that were sent and are not answered; those of a run are answered at its end. */
  sending = $state.raw(0);
  retry = $state.raw<{ attempt: number; most: number; until: number; error: string } | undefined>();
  isCompacting = $state.raw(false);
  workingMessage = $state.raw<string | undefined>();
  statuses = $state.raw<ReadonlyMap<string, string>>(new Map());
  widgets = $state.raw<ReadonlyMap<string, { lines: string[]; placement: string }>>(new Map());
  /** Output of a shell command of the user that is at work. */
  shell = $state.raw<{ command: string; output: string } | undefined>();
  /** What an extension, a fork or a step in the tree puts into the editor. */
  suggested = $state.raw<{ text: string; key: number } | undefined>();
  /** Said to screen readers. */
  said = $state.raw("");
  requests = $state.raw<ReadonlyMap<string, ModelRequest>>(new Map());

  readonly session: Session;
  readonly client = link.client;
  private items: Item[] = [];
  private readonly tools = new Map<string, Tool>();
  private live: Row | undefined;
  private keys = 0;
  private readonly events = new PerFrame<AgentEvent>((events) => this.apply(events));
  /** Events that came while messages were read. */
  private held: AgentEvent[] | undefined;
  private leave: (() => Promise<void>) | undefined;
  private readonly endings: (() => void)[] = [];
  private isClosed = false;
  /** Counts readings, so that one that was overtaken changes nothing. */
  private reading = 0;

  constructor(readonly id: string) {
    this.session = link.client.session(id);
    this.endings.push(link.onEvent((event) => this.hearServer(event)));
  }

  async open(): Promise<void> {
    this.held = [];
    try {
      const leave = await this.session.subscribe(
        {
          event: (event) => (this.held === undefined ? this.events.push(event) : this.held.push(event)),
          snapshot: (snapshot) => void this.startFrom(snapshot),
          gone: (reason) => {
            this.isGone = true;
            this.problem = reason === undefined ? undefined : trouble(reason);
          },
        },
        { afterSeq: 0, epoch: NO_EPOCH },
      );
      this.leave = leave;
      if (this.isClosed) {
        await leave();
      }
    } catch (error) {
      this.problem = trouble(error);
    }
  }

  close(): void {
    this.isClosed = true;
    this.events.clear();
    for (const end of this.endings) {
      end();
    }
    this.leave?.().catch(() => undefined); // Whoever leaves does not care how.
  }

  /** Reads everything anew; for what events do not tell. */
  async reload(): Promise<void> {
    this.events.flush();
    this.held ??= [];
    await this.readMessages();
    await this.refresh();
  }

  async loadOlder(): Promise<void> {
    const first = this.items[0]?.entryId;
    if (this.isLoadingOlder || !this.hasOlder || first === undefined) {
      return;
    }
    this.isLoadingOlder = true;
    const reading = this.reading;
    try {
      const { data } = await this.session.request({ type: "get_messages", before: first, limit: PAGE });
      if (reading !== this.reading) {
        return;
      }
      const older = data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]));
      this.items = [...older, ...this.items];
      this.hasOlder = data.hasMore === true;
      this.showRows();
    } catch (error) {
      this.tell(error);
    } finally {
      this.isLoadingOlder = false;
    }
  }

  /** Brings a message to the list that is not in it yet. */
  async reach(entryId: string): Promise<boolean> {
    while (!this.items.some((item) => item.entryId === entryId)) {
      if (!this.hasOlder || this.isClosed) {
        return false;
      }
      await this.loadOlder();
    }
    return true;
  }

  /** Says something. Resolves when the server has taken it, to whether it did. */
  async send(text: string, images: Picture[], manner: Manner): Promise<boolean> {
    const pictures = images.length > 0 ? { images } : {};
    const outgoing = { key: this.nextKey(), text, imageCount: images.length };
    this.outgoing = [...this.outgoing, outgoing];
    this.sending += 1;
    try {
      if (manner === "steer") {
        await this.session.request({ type: "steer", message: text, ...pictures });
      } else if (manner === "queue") {
        await this.session.request({ type: "follow_up", message: text, ...pictures });
      } else {
        if (manner === "stop" && this.isWorking) {
          await this.session.request({ type: "abort" });
        }
        await this.session.request({ type: "prompt", message: text, ...pictures });
      }
      return true;
    } catch (error) {
      if (hasCode(error, "aborted", "provider_failed")) {
        return true; // It was said, and the conversation shows what became of it.
      }
      this.tell(error);
      return false;
    } finally {
      this.sending -= 1;
      this.outgoing = this.outgoing.filter((item) => item.key !== outgoing.key);
    }
  }

  async stop(): Promise<void> {
    await this.try(() => this.session.request({ type: this.isCompacting && !this.isWorking ? "abort_compaction" : "abort" }));
  }

  async runShell(command: string): Promise<void> {
    this.shell = { command, output: "" };
    await this.try(() => this.session.request({ type: "bash", command }));
    this.shell = undefined;
    await this.settle();
  }

  /** Does something that may fail, and says so if it does. */
  async try<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.tell(error);
      return undefined;
    }
  }

  tell(error: unknown): void {
    const { text, hint } = trouble(error);
    this.notice("error", text, hint);
  }

  notice(tone: Notice["tone"], text: string, hint = ""): void {
    this.notices = [...this.notices.slice(-4), { key: this.nextKey(), tone, text, hint }];
  }

  dismiss(key: number): void {
    this.notices = this.notices.filter((notice) => notice.key !== key);
  }

  suggest(text: string): void {
    this.suggested = { text, key: this.nextKey() };
  }

  /** The question is settled for this page; the server tells the others. */
  forget(requestId: string): void {
    this.asked = this.asked.filter((asked) => asked.question.requestId !== requestId);
    this.drawn = this.drawn.filter((drawn) => drawn.requestId !== requestId);
  }

  /** What it holds and has cost, and how full the window is. */
  async refresh(): Promise<void> {
    const [info, stats, usage, queue] = await Promise.allSettled([
      this.session.request({ type: "get_state" }),
      this.session.request({ type: "get_session_stats" }),
      this.session.request({ type: "get_context_usage" }),
      this.session.request({ type: "get_queue" }),
    ]);
    if (info.status === "fulfilled") {
      this.info = info.value.data;
      this.isWorking = info.value.data.isStreaming;
    }
    if (stats.status === "fulfilled") {
      this.stats = stats.value.data;
    }
    if (usage.status === "fulfilled") {
      this.usage = usage.value.data ?? undefined;
    }
    if (queue.status === "fulfilled") {
      this.queue = queue.value.data;
    }
    await this.readRequests();
  }

  private async startFrom(snapshot: SessionSnapshot): Promise<void> {
    this.held = [];
    this.info = snapshot.sessionInfo;
    this.isWorking = snapshot.sessionInfo.isStreaming;
    this.queue = snapshot.queue;
    this.asked = [];
    for (const question of snapshot.questions) {
      this.ask(question);
    }
    await this.readMessages(snapshot.partial);
    await this.refresh();
  }

  private async readMessages(partial?: Message): Promise<void> {
    this.reading += 1;
    const reading = this.reading;
    try {
      const { data } = await this.session.request({ type: "get_messages", limit: FIRST_PAGE });
      if (reading !== this.reading) {
        return;
      }
      this.tools.clear();
      this.items = data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]));
      this.hasOlder = data.hasMore === true;
      this.live = undefined;
      const last = this.items.at(-1);
      if (partial?.role === "assistant" && !(last !== undefined && isSame(last.message, partial))) {
        this.beginAnswer(partial);
      }
      this.showRows();
      this.problem = undefined;
      this.isLoaded = true;
    } catch (error) {
      this.problem = trouble(error);
    }
    const held = this.held ?? [];
    this.held = undefined;
    for (const event of held) {
      this.events.push(event);
    }
  }

  private async readRequests(): Promise<void> {
    if (!link.client.has("envelopes")) {
      return;
    }
    try {
      const { data } = await this.session.request({ type: "list_requests", limit: REQUESTS });
      const found = new Map(this.requests);
      // Newest first; the last one for an entry is the one that was answered.
      for (const request of [...data.requests].reverse()) {
        if (request.entryId !== undefined && request.purpose === "turn") {
          found.set(request.entryId, request);
        }
      }
      this.requests = found;
    } catch {
      // The strips are missing then; what was said is there.
    }
  }

  /** After a run: entries get their ids, and whatever was missed is corrected. */
  private async settle(): Promise<void> {
    const known = this.items.findLastIndex((item) => item.entryId !== undefined);
    const after = this.items[known]?.entryId;
    const reading = this.reading;
    if (after === undefined) {
      return this.reload();
    }
    try {
      const { data } = await this.session.request({ type: "get_messages", after, limit: PAGE });
      if (reading !== this.reading || this.isWorking || this.live !== undefined) {
        return; // Something new began; its end settles this as well.
      }
      const tail = this.items.slice(known + 1);
      const fits = tail.length === data.messages.length && tail.every((item, index) => isSame(item.message, data.messages[index]));
      if (data.hasMore === true || (data.messages.length === 0 && tail.length > 0)) {
        return this.reload();
      }
      if (fits) {
        tail.forEach((item, index) => this.name(item, data.entryIds?.[index]));
      } else {
        this.items = [...this.items.slice(0, known + 1), ...data.messages.map((message, index) => this.newItem(message, data.entryIds?.[index]))];
      }
      this.showRows();
    } catch (error) {
      if (!hasCode(error, "not_found", "validation_failed")) {
        this.tell(error);
      }
      await this.reload();
    }
    await this.refresh();
  }

  private name(item: Item, entryId: string | undefined): void {
    item.entryId = entryId;
    if (item.row !== undefined) {
      item.row.entryId = entryId;
    }
  }

  private newItem(message: Message, entryId?: string): Item {
    if (message.role === "toolResult") {
      const tool = this.tool(message.toolCallId, message.toolName);
      tool.finish({ content: message.content, ...(message.details === undefined ? {} : { details: message.details }) }, message.isError);
      return { entryId, message, row: undefined };
    }
    if (message.role === "system" || (message.role === "custom" && !message.display)) {
      return { entryId, message, row: undefined };
    }
    const row = new Row(this.nextKey(), message);
    row.entryId = entryId;
    row.parts = partsOf(message, [], (id, name) => this.tool(id, name));
    return { entryId, message, row };
  }

  private tool(id: string, name: string): Tool {
    let tool = this.tools.get(id);
    if (tool === undefined) {
      tool = new Tool(id, name);
      this.tools.set(id, tool);
    }
    return tool;
  }

  private showRows(): void {
    let previous: string | undefined;
    const rows: Row[] = [];
    for (const { row, entryId } of this.items) {
      if (row !== undefined) {
        row.previous = previous;
        rows.push(row);
      }
      previous = entryId ?? previous;
    }
    this.rows = rows;
  }

  private nextKey(): number {
    this.keys += 1;
    return this.keys;
  }

  private hearServer(event: ServerEvent): void {
    if (event.type === "command_finished" && event.data.sessionId === this.id && event.data.success) {
      const type = event.data.commandType;
      if ((REWRITES as readonly string[]).includes(type)) {
        void this.reload();
      } else if (REFRESHES.includes(type)) {
        void this.refresh();
      } else if (type === "bash") {
        void this.settle();
      }
    }
  }

  private apply(events: AgentEvent[]): void {
    /** Text that was added in this frame; set once, however many deltas brought it. */
    const added = new Map<TextPart | ThinkingPart, string[]>();
    const grow = (part: TextPart | ThinkingPart, delta: string) => {
      const pieces = added.get(part);
      if (pieces === undefined) {
        added.set(part, [delta]);
      } else {
        pieces.push(delta);
      }
    };
    const settleText = () => {
      for (const [part, pieces] of added) {
        part.text += pieces.join("");
      }
      added.clear();
    };
    for (const event of events) {
      if (event.type === "message_update") {
        this.grow(event.assistantMessageEvent, grow, settleText);
      } else {
        settleText();
        this.applyOne(event);
      }
    }
    settleText();
  }

  private applyOne(event: Exclude<AgentEvent, { type: "message_update" }>): void {
    switch (event.type) {
      case "agent_start":
        this.isWorking = true;
        this.retry = undefined;
        this.said = "working";
        return;
      case "agent_settled":
        this.isWorking = false;
        this.live = undefined;
        this.retry = undefined;
        this.workingMessage = undefined;
        this.said = event.aborted === true ? "stopped" : "done";
        for (const tool of this.tools.values()) {
          if (tool.status === "running" || tool.status === "waiting" || tool.status === "writing") {
            tool.status = "lost";
          }
        }
        void this.settle();
        return;
      case "message_start":
        if (event.message.role === "assistant") {
          this.beginAnswer(event.message);
          this.showRows();
        }
        return;
      case "message_end":
        return this.endMessage(event.message);
      case "turn_end":
        void this.refreshUsage();
        return;
      case "tool_execution_start": {
        const tool = this.tool(event.toolCallId, event.toolName);
        tool.status = "running";
        tool.startedAt = Date.now();
        return;
      }
      case "tool_execution_update": {
        const tool = this.tool(event.toolCallId, event.toolName);
        tool.status = "running";
        tool.startedAt ??= Date.now();
        tool.output = event.partialResult;
        return;
      }
      case "tool_execution_end": {
        const tool = this.tool(event.toolCallId, event.toolName);
        tool.durationMs = event.durationMs ?? (tool.startedAt === undefined ? undefined : Date.now() - tool.startedAt);
        tool.finish(event.result, event.isError, event.denied);
        return;
      }
      case "auto_compaction_start":
        this.isCompacting = true;
        return;
      case "auto_compaction_end":
        this.isCompacting = false;
        if (event.errorMessage !== undefined) {
          this.notice("error", event.errorMessage);
        } else if (!event.aborted) {
          void this.reload();
        }
        return;
      case "auto_retry_start": {
        const { attempt, maxAttempts, delayMs, errorMessage } = event;
        this.retry = { attempt, most: maxAttempts, until: Date.now() + delayMs, error: errorMessage };
        return;
      }
      case "auto_retry_end":
        this.retry = undefined;
        return;
      case "queue_update":
        void this.readQueue();
        return;
      case "session_info_changed":
        if (this.info !== undefined) {
          const { sessionName: _, ...rest } = this.info;
          this.info = { ...rest, ...(event.name === undefined ? {} : { sessionName: event.name }) };
        }
        return;
      case "thinking_level_changed":
        if (this.info !== undefined) {
          this.info = { ...this.info, thinkingLevel: event.level };
        }
        return;
      case "entry_appended":
        if (event.entry.type === "model_change" || event.entry.type === "thinking_level_change") {
          void this.refresh();
        }
        return;
      case "bash_execution_update":
        if (this.shell === undefined) {
          this.shell = { command: "", output: event.delta };
        } else {
          this.shell = { ...this.shell, output: this.shell.output + event.delta };
        }
        return;
      case "extension_error":
        this.notice("error", event.error, event.extensionPath);
        return;
      case "extension_ui_request":
        if (isAnnouncement(event)) {
          this.announce(event);
        } else {
          this.ask(event);
        }
        return;
      case "extension_ui_render":
        this.drawn = [...this.drawn.filter((drawn) => drawn.requestId !== event.requestId), event];
        return;
      case "extension_ui_resolved": {
        const { requestId } = event;
        this.forget(requestId);
        return;
      }
      case "agent_end":
      case "turn_start":
        return;
    }
  }

  private beginAnswer(message: Message): void {
    const item = this.newItem(message);
    const row = item.row as Row;
    row.isLive = true;
    this.items = [...this.items, item];
    this.live = row;
  }

  private grow(
    event: AssistantMessageEvent,
    grow: (part: TextPart | ThinkingPart, delta: string) => void,
    settleText: () => void,
  ): void {
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
          grow(part, event.delta);
        } else {
          put(new TextPart(event.delta));
        }
        return;
      case "text_end":
        settleText();
        if (part?.type === "text") {
          part.text = event.content;
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
          grow(part, event.delta);
        } else {
          put(new ThinkingPart(event.delta));
        }
        return;
      case "thinking_end":
        settleText();
        if (part?.type === "thinking") {
          part.text = event.content;
          part.isGrowing = false;
        }
        return;
      case "toolcall_start": {
        const tool = this.tool(event.id ?? `${row.key}:${index}`, event.toolName ?? "");
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
          const tool = this.tool(event.toolCall.id, event.toolCall.name);
          tool.name = event.toolCall.name;
          tool.args = event.toolCall.arguments;
          tool.status = "waiting";
          put(part?.type === "tool" && part.tool === tool ? part : new ToolPart(tool));
        }
        return;
    }
  }

  private endMessage(message: Message): void {
    if (message.role === "assistant" && this.live !== undefined) {
      const row = this.live;
      this.live = undefined;
      row.parts = partsOf(message, row.parts, (id, name) => this.tool(id, name));
      row.message = message;
      row.isLive = false;
      const item = this.items.findLast((candidate) => candidate.row === row);
      if (item !== undefined) {
        item.message = message;
      }
      return;
    }
    // What was read while events waited may hold it already.
    if (this.items.slice(-8).some((item) => isSame(item.message, message))) {
      return;
    }
    if (message.role === "user") {
      const text = contentText(message.content);
      const taken = this.outgoing.find((item) => text.startsWith(item.text)) ?? this.outgoing[0];
      this.outgoing = this.outgoing.filter((item) => item !== taken);
    }
    this.items = [...this.items, this.newItem(message)];
    this.showRows();
  }

  private async refreshUsage(): Promise<void> {
    try {
      const [usage, stats] = await Promise.all([
        this.session.request({ type: "get_context_usage" }),
        this.session.request({ type: "get_session_stats" }),
      ]);
      this.usage = usage.data ?? undefined;
      this.stats = stats.data;
    } catch {
      // It is read again at the end of the run.
    }
  }

  private async readQueue(): Promise<void> {
    try {
      this.queue = (await this.session.request({ type: "get_queue" })).data;
    } catch {
      // It is read again with the next change.
    }
  }

  private ask(question: OpenQuestion): void {
    const deadline = question.timeout === undefined ? undefined : Date.now() + question.timeout;
    this.asked = [...this.asked.filter((asked) => asked.question.requestId !== question.requestId), { question, deadline }];
    this.said = "asks";
  }

  private announce(said: Announcement): void {
    switch (said.method) {
      case "notify":
        return this.notice(said.notifyType ?? "info", said.message);
      case "setStatus": {
        const statuses = new Map(this.statuses);
        if (said.text === undefined) {
          statuses.delete(said.key);
        } else {
          statuses.set(said.key, said.text);
        }
        this.statuses = statuses;
        return;
      }
      case "setWidget": {
        const widgets = new Map(this.widgets);
        if (said.content === undefined) {
          widgets.delete(said.key);
        } else {
          widgets.set(said.key, { lines: said.content, placement: said.placement ?? "aboveEditor" });
        }
        this.widgets = widgets;
        return;
      }
      case "setTitle":
        document.title = said.title;
        return;
      case "setWorkingMessage":
        this.workingMessage = said.message;
        return;
      case "setEditorText":
        return this.suggest(said.text);
    }
  }
}

/** Commands of anybody after which the head of the page is not what it was. */
const REFRESHES = ["set_model", "cycle_model", "set_thinking_level", "cycle_thinking_level", "set_session_name", "edit_queue", "set_active_tools", "set_context_source"];

function isSame(one: Message, other: Message | undefined): boolean {
  return other !== undefined && one.role === other.role && one.timestamp === other.timestamp && JSON.stringify(one) === JSON.stringify(other);
}

const ANNOUNCED = ["notify", "setStatus", "setWidget", "setTitle", "setWorkingMessage", "setEditorText"];

function isAnnouncement(said: { method: string }): said is Announcement & { method: string } {
  return ANNOUNCED.includes(said.method);
}
