/**
 * What is sent to a session: what a person says, and their shell commands. It is kept until the server has taken it, and sent again by
 * the page that comes after one that was left.
 */
import { newId, type Session } from "pi-client";
import { hasCode } from "../link/link.svelte";
import { notices } from "../parts/notices.svelte";
import { attachments, type Draft, type Picture, read, write } from "./draft.svelte";
import type { Messages } from "./messages.svelte";
import { isKnown, type Manner, type Outbox, type Outgoing, outboxOf } from "./outbox.svelte";
import { contentText } from "./parts.svelte";
import type { Recess } from "./recess.svelte";
import type { Stage } from "./stage.svelte";

/** So far the clocks of browser and server may be apart. */
const CLOCKS_MS = 5000;

/** Characters of a running command's output that are kept: its end, as in the conversation. */
const LONGEST_OUTPUT = 50_000;

/** A shell command of the user that is at work. */
interface ShellRun {
  id: string;
  command: string;
  /** Extensions that wrote in it: they answer for it. A page from before did not know. */
  writtenBy?: readonly string[];
  at: number;
}

/** The conversation that something is sent to. */
export interface Addressee {
  readonly id: string;
  readonly session: Session;
  readonly draft: Draft;
  readonly messages: Messages;
  readonly stage: Stage;
  readonly recess: Recess;
  readonly isWorking: boolean;
  /** Whether nobody looks at it any more. */
  readonly isClosed: boolean;
  /** Whether the server has let it go, which is told as long as it is so. */
  readonly isGone: boolean;
  reload(): Promise<void>;
  settle(): Promise<void>;
}

export class Sending {
  /** How many were sent and are not answered; those of a run are answered at its end. */
  unanswered = $state.raw(0);
  /** Output of a shell command of the user that is at work; one of another client has no words here. */
  shell = $state.raw<{ command: string; output: string } | undefined>();
  readonly outbox: Outbox;
  /** Pictures of what was sent from here to wait, by its words. */
  private readonly queued = new Map<string, readonly Picture[]>();

  constructor(private readonly to: Addressee) {
    this.outbox = outboxOf(to.id);
  }

  /** Says something. Resolves when the server has taken it or has refused it; what was refused stands in the editor again. */
  say(text: string, images: readonly Picture[], manner: Manner): Promise<void> {
    return this.transmit({ id: newId(), text, images, manner, at: Date.now() });
  }

  runShell(command: string, writtenBy: readonly string[]): Promise<void> {
    return this.followShell({ id: newId(), command, writtenBy, at: Date.now() });
  }

  /** The pictures of something that waits, as far as it was sent from here. */
  picturesOf(text: string): readonly Picture[] {
    return this.queued.get(text) ?? [];
  }

  /** Sends what a page that was left has sent; what is too old for that stands in the editor again. */
  sendLeft(): void {
    for (const left of this.outbox.left) {
      if (isKnown(left)) {
        void this.transmit(left);
      } else {
        this.outbox.end(left);
        this.giveBack(left.text, left.images);
      }
    }
    const run = this.shell === undefined ? (JSON.parse(read(this.shellKey) ?? "null") as ShellRun | null) : null;
    if (run !== null) {
      write(this.shellKey, "");
      if (isKnown(run)) {
        void this.followShell(run);
      }
    }
  }

  /** What was sent has become a message. */
  arrive(text: string): void {
    const { all } = this.outbox;
    // Templates and extensions make other words of what was said; only what begins a run can be meant then.
    this.outbox.end(all.find((item) => text.startsWith(item.text)) ?? all.find(({ manner }) => manner === "prompt" || manner === "stop"));
  }

  /** A shell command has written something. */
  hearShell(delta: string): void {
    this.shell = { command: this.shell?.command ?? "", output: `${this.shell?.output ?? ""}${delta}`.slice(-LONGEST_OUTPUT) };
  }

  /** A shell command has ended. One of another client is forgotten: nobody waits for its end here. */
  endShell(): void {
    if (this.shell?.command === "") {
      this.shell = undefined;
    }
  }

  private async transmit(outgoing: Outgoing): Promise<void> {
    const { session, draft, stage } = this.to;
    const { id, text, manner } = outgoing;
    const images = [...outgoing.images];
    const said = { message: text, ...(images.length > 0 ? { images } : {}) };
    this.outbox.begin(outgoing);
    if (images.length > 0 && (manner === "steer" || manner === "queue")) {
      this.queued.set(text, images);
    }
    this.unanswered += 1;
    try {
      if (manner === "steer") {
        await session.request({ type: "steer", ...said }, { id });
      } else if (manner === "queue") {
        await session.request({ type: "follow_up", ...said }, { id });
      } else {
        if (manner === "stop" && this.to.isWorking) {
          await session.request({ type: "abort" });
        }
        await session.request({ type: "prompt", ...said }, { id });
      }
    } catch (error) {
      if (hasCode(error, "aborted", "provider_failed")) {
        return; // It was said, and the conversation shows what became of it.
      }
      this.to.recess.hear(error);
      const isSaid = await this.isSaid(outgoing, error);
      // Whoever has gone elsewhere is told there.
      if (!(this.to.isGone && hasCode(error, "session_not_found"))) {
        (this.to.isClosed ? notices : stage).tell(error);
      }
      // Whoever has typed it again meanwhile has it already.
      if (!isSaid && (text === "" || !draft.text.includes(text))) {
        this.giveBack(text, images);
      }
    } finally {
      this.unanswered -= 1;
      this.outbox.end(outgoing);
    }
  }

  /** Whether it stands in the conversation although its command failed: a run that ended with its server has begun with what was said. */
  private async isSaid({ id, text, at }: Outgoing, error: unknown): Promise<boolean> {
    if (!this.outbox.all.some((outgoing) => outgoing.id === id)) {
      return true; // It has become a message before our eyes.
    }
    if (this.to.isClosed || !hasCode(error, "interrupted", "session_file_missing", "storage_failed")) {
      return false;
    }
    await this.to.reload();
    const last = this.to.messages.rows.findLast(({ message }) => message.role === "user")?.message;
    return last?.role === "user" && contentText(last.content).startsWith(text) && last.timestamp >= at - CLOCKS_MS;
  }

  /** Puts what was not said back into the editor, beside what stands there. */
  giveBack(text: string, images: readonly Picture[]): void {
    const { draft } = this.to;
    draft.write([draft.text, text].filter((part) => part !== "").join("\n\n"));
    draft.attach([...draft.images, ...attachments(images)]);
  }

  /** Runs a shell command, or goes on to wait for one that this page began before it was loaded anew. */
  private async followShell(run: ShellRun): Promise<void> {
    const { id, command, writtenBy = [] } = run;
    write(this.shellKey, JSON.stringify(run));
    this.shell = { command, output: "" };
    try {
      await this.to.session.request({ type: "bash", command, ...(writtenBy.length > 0 ? { writtenBy: [...writtenBy] } : {}) }, { id });
    } catch (error) {
      if (!hasCode(error, "aborted")) {
        this.to.stage.tell(error);
      }
    }
    write(this.shellKey, "");
    this.shell = undefined;
    await this.to.settle();
  }

  private get shellKey(): string {
    return `pi.shell.${this.to.id}`;
  }
}
