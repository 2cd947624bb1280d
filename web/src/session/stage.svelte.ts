/** What stands around a conversation: notices, questions to a person, and what extensions draw and announce. */
import type { Announcement, Asker, OpenQuestion, Span } from "pi-client";
import { Notices } from "../parts/notices.svelte";
import type { Attachment } from "./draft.svelte";

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
  /** Who draws it. */
  extensionId?: string;
}

export interface Widget {
  lines: string[];
  placement: string;
  extensionId: string | undefined;
}

export interface Status {
  text: string;
  extensionId: string | undefined;
}

interface Suggested {
  text: string;
  /** The extension that wrote it, or the conversation. */
  author: string;
  /** Those that are there stay if none are named. */
  images: readonly Attachment[] | undefined;
}

export class Stage extends Notices {
  asked = $state.raw<readonly Asked[]>([]);
  drawn = $state.raw<readonly Drawn[]>([]);
  /** The calls of tools that wait for a person's answer. */
  readonly waiting: ReadonlySet<string> = $derived(
    new Set(this.asked.flatMap(({ question: { asker } }) => (asker?.by === "host" && asker.approval.toolCallId !== undefined ? [asker.approval.toolCallId] : []))),
  );
  workingMessage = $state.raw<Status | undefined>();
  /** What an extension wants the tab to be called. */
  title = $state.raw<Status | undefined>();
  statuses = $state.raw<ReadonlyMap<string, Status>>(new Map());
  widgets = $state.raw<ReadonlyMap<string, Widget>>(new Map());
  /** What an extension, a fork or a step in the tree puts into the editor; whoever takes it takes it away. */
  suggested = $state.raw<Suggested | undefined>();

  suggest(text: string, author: string, images?: readonly Attachment[]): void {
    this.suggested = { text, author, images };
  }

  ask(question: OpenQuestion): void {
    const deadline = question.timeout === undefined ? undefined : Date.now() + question.timeout;
    const asked = [...this.asked.filter((one) => one.question.requestId !== question.requestId), { question, deadline }];
    // However much an extension asks, what the host wants to know comes first.
    this.asked = [...asked.filter(isApproval), ...asked.filter((one) => !isApproval(one))];
  }

  draw(drawn: Drawn): void {
    this.drawn = [...this.drawn.filter((one) => one.requestId !== drawn.requestId), drawn];
  }

  /** The call of a tool that waits for the answer to a question. */
  callOf(requestId: string): string | undefined {
    const asker = this.asked.find(({ question }) => question.requestId === requestId)?.question.asker;
    return asker?.by === "host" ? asker.approval.toolCallId : undefined;
  }

  /** The question is settled for this page; the server tells the others. */
  forget(requestId: string): void {
    this.asked = this.asked.filter((asked) => asked.question.requestId !== requestId);
    this.drawn = this.drawn.filter((drawn) => drawn.requestId !== requestId);
  }

  /** Extensions began anew: nothing of what they drew, asked and announced is there any more. */
  clearAll(): void {
    this.asked = [];
    this.drawn = [];
    this.statuses = new Map();
    this.widgets = new Map();
    this.workingMessage = undefined;
    this.title = undefined;
  }

  announce(said: Announcement, asker: Asker | undefined): void {
    const extensionId = asker?.by === "extension" ? asker.extensionId : undefined;
    // A key belongs to the extension that chose it.
    const own = (key: string) => `${extensionId ?? ""}\0${key}`;
    switch (said.method) {
      case "notify":
        return this.notice(said.notifyType ?? "info", said.message, "", extensionId);
      case "setStatus": {
        const statuses = new Map(this.statuses);
        if (said.text === undefined) {
          statuses.delete(own(said.key));
        } else {
          statuses.set(own(said.key), { text: said.text, extensionId });
        }
        this.statuses = statuses;
        return;
      }
      case "setWidget": {
        const widgets = new Map(this.widgets);
        if (said.content === undefined) {
          widgets.delete(own(said.key));
        } else {
          widgets.set(own(said.key), { lines: said.content, placement: said.placement ?? "aboveEditor", extensionId });
        }
        this.widgets = widgets;
        return;
      }
      case "setTitle":
        this.title = { text: said.title, extensionId };
        return;
      case "setWorkingMessage":
        this.workingMessage = said.message === undefined ? undefined : { text: said.message, extensionId };
        return;
      case "setEditorText":
        return this.suggest(said.text, extensionId ?? "unknown");
    }
  }
}

function isApproval({ question }: Asked): boolean {
  return question.asker?.by === "host";
}

const ANNOUNCED = ["notify", "setStatus", "setWidget", "setTitle", "setWorkingMessage", "setEditorText"];

export function isAnnouncement(said: { method: string }): said is Announcement & { method: string } {
  return ANNOUNCED.includes(said.method);
}
