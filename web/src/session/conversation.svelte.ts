/**
 * One session as the page shows it: the connection to it, and what it is doing.
 *
 * What was said is in {@link Messages}, what is being sent in {@link Sending}, what waits for a person in {@link Stage}, what the model was
 * given in {@link Requests}. Events are applied once per frame ({@link PerFrame}). What events cannot tell (the entries of messages, what
 * other clients rewrote) is read again when a run settles.
 */
import { type AgentEvent, type ContextUsage, type Message, type PiClient, type Queue, type ServerEvent, Session, type SessionInfo, type SessionSnapshot, type SessionStats } from "pi-client";
import { untrack } from "svelte";
import { PerFrame } from "../link/frame";
import { type Asks, hasCode, link, REWRITES, type Trouble, trouble } from "../link/link.svelte";
import { t } from "../texts";
import { asking } from "./asking.svelte";
import { saidOf } from "./attached";
import { type ChangedFile, changesIn } from "./changes";
import { type Attachment, attachments, CONVERSATION, draftOf, type Picture } from "./draft.svelte";
import { fileIdOf, findFile, loadFromDisk } from "./files";
import { Look } from "./look.svelte";
import { Messages, type Row } from "./messages.svelte";
import { contentImages, contentText } from "./parts.svelte";
import { Recess } from "./recess.svelte";
import { Requests } from "./requests.svelte";
import { Sending } from "./sending.svelte";
import { isAnnouncement, Stage } from "./stage.svelte";

/** An epoch that no session has: what there is comes as a snapshot, with the answer that is being written. */
const NO_EPOCH = "-";

/** As long as events may be behind an answer that was asked for after them. */
const EVENTS_COME_MS = 250;

/** Sessions that are being left: whoever opens one again waits for that, because only one at a time can listen from the beginning. */
const leaving = new Map<string, Promise<void>>();

export class Conversation {
  problem = $state.raw<Trouble | undefined>();
  /** The server let it go; its file may still be there. */
  isGone = $state.raw(false);
  /** Its file is not there any more: nobody can open it again. */
  isDeleted = $state.raw(false);

  /** The server has it, from disk if need be: it can be asked about. */
  isThere = $state.raw(false);
  /** Another program has it open: it can be looked at, and nothing can be said to it. */
  look = $state.raw<Look | undefined>();
  /** Its file is loaded under another id; that one is to be shown. */
  movedTo = $state.raw<string | undefined>();

  info = $state.raw<SessionInfo | undefined>();
  isWorking = $state.raw(false);
  stats = $state.raw<SessionStats | undefined>();
  usage = $state.raw<ContextUsage | undefined>();
  queue = $state.raw<Queue>({ revision: 0, items: [] });
  retry = $state.raw<{ attempt: number; most: number; until: number; error: string } | undefined>();
  isCompacting = $state.raw(false);
  /** Whether there is something that *Stop* ends. */
  readonly canStop = $derived.by(() => this.isWorking || this.isCompacting || this.sending.shell !== undefined);
  /** What its tools changed, as far as it was read. Reckoned when a call is done, and not for everything that it says. */
  readonly changed: readonly ChangedFile[] = $derived.by(() => {
    void this.messages.done;
    return untrack(() => changesIn(this.messages.rows));
  });
  /** Counts changes of what extensions offer: commands that were read before are old then. */
  offers = $state.raw(0);
  /** Said to screen readers. */
  said = $state.raw<"" | "working" | "done" | "stopped" | "asks">("");

  readonly session: Session;
  /** Whom the session is asked of. */
  readonly client: Asks = { request: (command, options) => (this.look ?? link.client).request(command, options) };
  readonly messages: Messages;
  readonly requests: Requests;
  /** Whether its provider is left alone. */
  readonly recess = new Recess(() => this.info?.model?.provider);
  readonly stage = new Stage();
  readonly draft;
  readonly sending: Sending;
  private readonly events = new PerFrame<AgentEvent>((events) => this.apply(events));
  /** Told with a snapshot: it changes when the server is started again. */
  private epoch: string | undefined;
  /** Events that came while messages were read. */
  private held: AgentEvent[] | undefined;
  private opening: Promise<void> = Promise.resolve();
  /** Somebody compacts from here: the answer says how that ended, and the event nothing more. */
  private isCompactedHere = false;
  /** A compaction that was asked for here has no answer yet. */
  private asksForCompaction = false;
  private leave: (() => Promise<void>) | undefined;
  /** Older messages are on their way. */
  private older: Promise<void> | undefined;
  /** What a fork or a step back put into the editor alone. */
  private putBack: string | undefined;
  private readonly endings: (() => void)[] = [];
  isClosed = false;
  // Whether it works is told by events alone: an answer that was on its way may be older than they are.
  private readonly readInfo = newest(
    () => this.session.request({ type: "get_state" }),
    ({ data }) => (this.info = data),
  );
  private readonly readUsage = newest(
    () => Promise.all([this.session.request({ type: "get_context_usage" }), this.session.request({ type: "get_session_stats" })]),
    ([usage, stats]) => {
      this.usage = usage.data ?? undefined;
      this.stats = stats.data;
    },
  );
  private readonly readQueue = newest(
    () => this.session.request({ type: "get_queue" }),
    ({ data }) => (this.queue = data),
  );

  constructor(readonly id: string) {
    // It asks and nothing else; who listens is the session of the connection.
    this.session = new Session(this.client as PiClient, id);
    this.draft = draftOf(id);
    this.messages = new Messages(this.session);
    this.requests = new Requests(this.session);
    this.sending = new Sending(this);
    this.endings.push(link.onEvent((event) => this.hearServer(event)));
  }

  /** What links name: the id of its file, which stays when the session is closed. */
  get address(): string {
    return fileIdOf(this.info?.sessionFile ?? "") ?? this.id;
  }

  open(): void {
    this.opening = this.join();
  }

  private async join(): Promise<void> {
    this.held = [];
    await Promise.all([asking.show(this.id), leaving.get(this.id)]);
    if (!this.isClosed) {
      await this.connect();
    }
  }

  /** Listens to the session, which is loaded from disk if need be; or looks at its files, if another program has it. */
  private async connect(): Promise<void> {
    try {
      this.leave = await this.listen().catch(async (error: unknown) => {
        const loaded = hasCode(error, "session_not_found") ? await loadFromDisk(this.id) : undefined;
        if (loaded === undefined) {
          throw error;
        }
        if ("heldElsewhere" in loaded) {
          await this.lookAt(loaded.heldElsewhere);
          return undefined;
        }
        if (loaded.id !== this.id) {
          this.movedTo = loaded.id;
          return undefined;
        }
        return this.listen();
      });
      this.isThere = this.movedTo === undefined;
    } catch (error) {
      // What the server advises is for programs.
      this.problem = hasCode(error, "session_not_found") ? { text: t("session.missing"), hint: t("session.missing.next") } : trouble(error);
    }
  }

  private async lookAt(file: string): Promise<void> {
    const look = new Look(file, () => void this.lookAgain());
    await look.begin();
    if (this.isClosed) {
      return look.end();
    }
    this.endings.push(() => look.end());
    this.look = look;
    this.isThere = true;
    await this.readMessages();
    await this.refresh();
  }

  /** The other program has written something. */
  private async lookAgain(): Promise<void> {
    const compactions = () => this.requests.all.filter(({ purpose }) => purpose === "compaction").length;
    const before = compactions();
    await this.settle();
    if (compactions() !== before) {
      await this.reload(); // What was said stands elsewhere now.
    }
  }

  /** Opens a session here that another program had open. What is said of it then is told to whoever looks. */
  async takeOver(): Promise<void> {
    const loaded = await this.try(() => loadFromDisk(this.id));
    if (loaded === undefined) {
      return;
    }
    if ("heldElsewhere" in loaded) {
      this.stage.notice("info", t("held.still"), t("held.still.next"));
    } else {
      await this.goOn(loaded.id);
    }
  }

  /** Somebody has loaded what was only looked at. */
  private async goOn(id: string): Promise<void> {
    if (this.look === undefined) {
      return; // Who loaded it is told as well.
    }
    this.look.end();
    if (id !== this.id) {
      this.movedTo = id;
      return;
    }
    this.look = undefined;
    this.held = [];
    this.opening = this.connect();
    await this.opening;
  }

  private listen(): Promise<() => Promise<void>> {
    return link.client.session(this.id).subscribe(
      {
        event: (event) => (this.held === undefined ? this.events.push(event) : this.held.push(event)),
        snapshot: (snapshot) => void this.startFrom(snapshot),
        gone: (reason) => {
          this.isGone = true;
          void this.lookForFile();
          this.problem = reason === undefined ? undefined : trouble(reason);
        },
      },
      { afterSeq: 0, epoch: NO_EPOCH },
    );
  }

  close(): void {
    this.isClosed = true;
    this.events.clear();
    this.recess.end();
    for (const end of this.endings) {
      end();
    }
    const left = this.opening
      .then(() => this.leave?.())
      .catch(() => undefined) // Whoever leaves does not care how.
      .then(() => asking.hide(this.id));
    leaving.set(this.id, left);
  }

  /** Whoever closes a session leaves its file, and whoever deletes one takes it away, a moment later. */
  private async lookForFile(): Promise<void> {
    const id = fileIdOf(this.info?.sessionFile ?? "");
    try {
      this.isDeleted = id === undefined || (await findFile(id)) === undefined;
    } catch {
      // A server that is away is told of elsewhere.
    }
  }

  /** Reads everything anew; for what events do not tell. */
  async reload(): Promise<void> {
    this.events.flush();
    this.held ??= [];
    await this.readMessages();
    await this.refresh();
  }

  /** Brings older messages, if there are any. Whoever asks while they come gets the same. */
  async loadOlder(): Promise<void> {
    if (this.messages.hasOlder) {
      this.older ??= this.readOlder().finally(() => (this.older = undefined));
    }
    await this.older;
    await this.readRequests();
  }

  /** What was read for a beginning that is not there any more is read for the one in its place: whoever asked does not ask again. */
  private async readOlder(): Promise<void> {
    while ((await this.try(() => this.messages.readOlder())) === false && !this.isClosed) {}
  }

  /** Brings a message to the list that is not in it yet. */
  async reach(entryId: string): Promise<boolean> {
    while (!this.messages.has(entryId)) {
      const { count, hasOlder } = this.messages;
      if (!hasOlder || this.isClosed) {
        return false;
      }
      await this.loadOlder();
      if (this.messages.count === count && this.messages.hasOlder) {
        return false; // They could not be read, and that was told.
      }
    }
    return true;
  }

  /**
   * Goes back to before something that was said, and puts it into the editor as it was: the words, and the pictures as far as the
   * message is known here. False if that was not wanted.
   */
  async goBack(entryId: string, options: { summarize?: boolean } = {}): Promise<boolean> {
    const images = this.imagesOf(entryId);
    const { data } = await this.session.request({ type: "navigate_tree", targetId: entryId, ...(options.summarize === true ? { options } : {}) });
    if (data.cancelled) {
      return false;
    }
    await this.reload();
    if (data.editorText !== undefined || images.length > 0) {
      const [words, pictures] = this.beside(saidOf(data.editorText ?? "").text, images);
      this.stage.suggest(words, CONVERSATION, pictures);
    }
    return true;
  }

  /** Makes a session of its own of what was said before a message, and puts the message into the editor. */
  async fork(entryId: string): Promise<boolean> {
    const images = this.imagesOf(entryId);
    const { data } = await this.session.request({ type: "fork", entryId });
    if (data.cancelled) {
      return false;
    }
    await this.reload();
    const [words, pictures] = this.beside(saidOf(data.text).text, images);
    this.stage.suggest(words, CONVERSATION, pictures);
    return true;
  }

  /**
   * Says once more what was said last. If nothing but the failure came of it, it takes its place; if the model did something before it
   * failed, that is not forgotten, and the message follows it. Nothing moves while it would be refused.
   */
  async again(): Promise<void> {
    const { rows } = this.messages;
    const at = rows.findLastIndex((row) => row.message.role === "user");
    const last = rows[at];
    if (last?.message.role !== "user" || (await this.recess.look())) {
      return;
    }
    const { content } = last.message;
    const images = contentImages(content).map(({ data, mimeType }): Picture => ({ type: "image", data, mimeType }));
    if (last.entryId !== undefined && rows.slice(at + 1).every(isFailure)) {
      const { entryId } = last;
      const gone = await this.try(() => this.session.request({ type: "navigate_tree", targetId: entryId }));
      if (gone === undefined || gone.data.cancelled) {
        return;
      }
      await this.reload();
    }
    await this.sending.say(saidOf(contentText(content)).text, images, "prompt");
  }

  /** What is put into the editor beside what somebody typed there; what was put there and left as it was makes room for it. */
  private beside(text: string, images: readonly Attachment[]): [string, readonly Attachment[]] {
    const { draft } = this;
    const isFree = draft.text === this.putBack || draft.text === "";
    this.putBack = isFree ? text : undefined;
    if (isFree) {
      return [text, draft.text === "" ? [...draft.images, ...images] : images];
    }
    return [draft.text.includes(text) ? draft.text : `${draft.text}\n\n${text}`, [...draft.images, ...images]];
  }

  private imagesOf(entryId: string): ReturnType<typeof attachments> {
    const message = this.messages.rows.find((row) => row.entryId === entryId)?.message;
    return attachments(message?.role === "user" ? contentImages(message.content) : []);
  }

  async stop(): Promise<void> {
    const type = this.sending.shell !== undefined ? "abort_bash" : this.isCompacting && !this.isWorking ? "abort_compaction" : "abort";
    await this.try(() => this.session.request({ type }));
  }

  async compact(words: string): Promise<void> {
    this.isCompacting = true;
    this.isCompactedHere = true;
    this.asksForCompaction = true;
    const done = await this.try(async () => {
      const made = await this.session.request({ type: "compact", ...(words === "" ? {} : { customInstructions: words }) }).catch(unlessNothing);
      if (made === undefined) {
        this.isCompactedHere = false; // No event follows.
        this.stage.notice("info", t("error.nothingToCompact"), t("error.nothingToCompact.next"));
      }
      return made;
    });
    this.asksForCompaction = false;
    this.isCompacting = false;
    await this.reload();
    if (done !== undefined) {
      // The summary may stand far above what is in sight.
      this.stage.notice("info", t("compact.done"));
    }
  }

  /** Does something that may fail, and says so if it does. */
  async try<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.stage.tell(error);
      return undefined;
    }
  }

  /** What it holds and has cost, and how full the window is. */
  async refresh(): Promise<void> {
    await Promise.all([this.readInfo(), this.readUsage(), this.readQueue(), this.readRequests()]);
  }

  private async startFrom(snapshot: SessionSnapshot): Promise<void> {
    this.held = [];
    this.isCompactedHere = false;
    this.info = snapshot.sessionInfo;
    this.isWorking = snapshot.sessionInfo.isStreaming;
    this.queue = snapshot.queue;
    this.stage.asked = [];
    if (this.epoch !== undefined && this.epoch !== snapshot.epoch) {
      this.stage.clearAll(); // The server was started again, and its extensions with it.
    }
    this.epoch = snapshot.epoch;
    for (const question of snapshot.questions) {
      this.stage.ask(question);
    }
    await this.readMessages(snapshot.partial);
    this.sending.sendLeft();
    await this.refresh();
  }

  private async readMessages(partial?: Message): Promise<void> {
    try {
      if (!(await this.messages.read(partial))) {
        return; // The reading that overtook this one lets the events go on.
      }
      this.problem = undefined;
    } catch (error) {
      this.problem = trouble(error);
    }
    const held = this.held ?? [];
    this.held = undefined;
    for (const event of held) {
      this.events.push(event);
    }
  }

  /** Brings what is shown to where the session is when something has come to its end. */
  async settle(untold: "taken" | "doubted" = "taken"): Promise<void> {
    try {
      let outcome = await this.messages.settle(() => this.isWorking, untold);
      if (outcome === "ahead") {
        await new Promise((wake) => setTimeout(wake, EVENTS_COME_MS));
        outcome = await this.messages.settle(() => this.isWorking);
      }
      if (outcome === "lost") {
        return await this.reload();
      }
      if (outcome === "later") {
        return;
      }
    } catch (error) {
      if (!hasCode(error, "not_found", "validation_failed")) {
        this.stage.tell(error);
      }
      await this.reload();
    }
    await this.refresh();
  }

  /** The new requests, and those that led to what is shown. */
  private async readRequests(): Promise<void> {
    try {
      await this.requests.readNewer();
      await this.requests.reachBack(this.messages.since);
    } catch {
      // The strips are missing then; what was said is there.
    }
  }

  /** A model was asked: what it was given, and where in the conversation. */
  private async follow(): Promise<void> {
    await this.readRequests();
    await this.messages.nameWritten().catch(() => undefined); // The end of the run names everything.
  }

  private hearServer(event: ServerEvent): void {
    if (event.type === "session_created" && this.look !== undefined && event.data.sessionInfo.sessionFile === this.look.file) {
      void this.goOn(event.data.sessionId);
    }
    if (event.type === "command_started") {
      this.sending.outbox.start(event.data.commandId);
    }
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
    if (event.type === "command_finished" && event.data.commandType === "delete_stored_session" && this.isGone) {
      void this.lookForFile();
    }
    if (event.type === "command_finished" && event.data.sessionId === this.id && event.data.commandType === "bash") {
      this.sending.endShell();
    }
  }

  private apply(events: AgentEvent[]): void {
    for (const event of events) {
      this.applyOne(event);
    }
    this.messages.endFrame();
  }

  private applyOne(event: AgentEvent): void {
    switch (event.type) {
      case "message_end":
        if (event.message.role === "user") {
          this.sending.arrive(contentText(event.message.content));
        } else if (event.message.role === "assistant") {
          void this.readUsage(); // Its calls may take long, and the turn ends after them.
        }
        return this.messages.hear(event);
      case "message_start":
        this.messages.hear(event);
        if (event.message.role === "assistant") {
          void this.follow();
        }
        return;
      case "message_update":
      case "tool_execution_start":
      case "tool_execution_update":
      case "tool_execution_end":
        return this.messages.hear(event);
      case "agent_start":
        asking.onwork();
        this.isWorking = true;
        this.retry = undefined;
        this.said = "working";
        return;
      case "agent_settled":
        asking.onwork();
        this.isWorking = false;
        this.retry = undefined;
        this.stage.workingMessage = undefined;
        this.said = event.aborted === true ? "stopped" : "done";
        this.messages.endRun();
        // The next run may have begun: what it says is told by its events, which may still be under way.
        void this.settle("doubted");
        return;
      case "turn_end":
        void this.readUsage();
        void this.readRequests();
        return;
      case "auto_compaction_start":
        // What failed before it began has no end by which it would be forgotten.
        this.isCompactedHere &&= this.asksForCompaction;
        this.isCompacting = true;
        return;
      case "auto_compaction_end": {
        const isAnswered = event.reason === "manual" && this.isCompactedHere;
        this.isCompacting = false;
        this.isCompactedHere &&= !isAnswered;
        if (event.errorMessage === undefined && !event.aborted) {
          void this.reload();
        } else if (event.errorMessage !== undefined && !isAnswered) {
          this.stage.notice("error", t("compact.failed", { why: event.errorMessage }), t("compact.failed.next"));
        }
        return;
      }
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
        return this.sending.hearShell(event.delta);
      case "offers_changed":
        this.offers += 1;
        return;
      case "session_tree":
        void this.reload();
        return;
      case "storage_failed":
        this.stage.notice("error", t("storage.failed", { why: event.message }));
        return;
      case "storage_recovered":
        this.stage.notice("info", t("storage.recovered"));
        return;
      case "input_notice":
      case "guardrail":
        this.stage.notice("warning", event.message);
        return;
      case "messages_unsaid":
        event.texts.forEach((text) => this.stage.notice("warning", t("notice.unsaid", { text })));
        return;
      case "extension_error":
        this.stage.notice("error", event.error, event.extensionPath);
        return;
      case "extension_ui_request":
        if (isAnnouncement(event)) {
          this.stage.announce(event, event.asker);
        } else {
          this.stage.ask(event);
          this.said = "asks";
        }
        return;
      case "extension_ui_render":
        return this.stage.draw(event);
      case "extension_ui_resolved":
        this.messages.goOn(this.stage.callOf(event.requestId));
        return this.stage.forget(event.requestId);
      case "agent_end":
      case "turn_start":
        return;
    }
  }

  /**
   * Says what waits although no run is there to say it after: the first begins a run, and the others follow it. The server tells how many
   * pictures something has that waits, and not which; one whose pictures were not sent from here is left where it is.
   */
  async sayWaiting(): Promise<void> {
    const [first, ...others] = this.queue.items;
    if (first === undefined || this.isWorking) {
      return;
    }
    const images = this.sending.picturesOf(first.message);
    if (images.length !== first.imageCount) {
      this.stage.notice("warning", t("queue.images.elsewhere"), t("queue.images.elsewhere.next"));
      return;
    }
    if (await this.recess.look()) {
      this.stage.notice("warning", t("error.circuit"), t("error.circuit.wait", { seconds: this.recess.seconds ?? 0 }));
      return;
    }
    const { revision } = this.queue;
    const answer = await this.try(() => this.session.request({ type: "edit_queue", revision, items: others.map(({ itemId }) => ({ itemId })) }));
    if (answer !== undefined) {
      this.queue = answer.data;
      await this.sending.say(saidOf(first.message).text, images, "prompt");
    }
  }
}

/** That there was nothing to do is no failure. */
function unlessNothing(error: unknown): undefined {
  if (!hasCode(error, "nothing_to_compact")) {
    throw error;
  }
}

/** Whether nothing but a failure came of what was said. */
function isFailure({ message }: Row): boolean {
  return message.role === "assistant" && message.stopReason === "error" && message.content.every((block) => block.type !== "toolCall");
}

/**
 * A reading of which the one that was asked for last counts, however late others come. One that fails changes nothing: the next change
 * reads again.
 */
function newest<T>(read: () => Promise<T>, take: (found: T) => void): () => Promise<void> {
  let asked = 0;
  return async () => {
    asked += 1;
    const mine = asked;
    const found = await read().catch(() => undefined);
    if (found !== undefined && mine === asked) {
      take(found);
    }
  };
}

/** Commands of anybody after which the head of the page is not what it was. */
const REFRESHES = ["set_model", "cycle_model", "set_thinking_level", "cycle_thinking_level", "set_session_name", "edit_queue", "set_active_tools", "set_context_source"];
