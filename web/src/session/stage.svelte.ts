/** What stands around a conversation: notices, questions to a person, and what extensions draw and announce. */
import type { Announcement, OpenQuestion, Span } from "pi-client";
import { trouble } from "../link/link.svelte";

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

/** Older notices make room. */
const MOST_NOTICES = 5;
const MENTIONED_MS = 4000;

export class Stage {
  asked = $state.raw<readonly Asked[]>([]);
  drawn = $state.raw<readonly Drawn[]>([]);
  notices = $state.raw<readonly Notice[]>([]);
  workingMessage = $state.raw<string | undefined>();
  statuses = $state.raw<ReadonlyMap<string, string>>(new Map());
  widgets = $state.raw<ReadonlyMap<string, { lines: string[]; placement: string }>>(new Map());
  /** What an extension, a fork or a step in the tree puts into the editor; whoever takes it takes it away. */
  suggested = $state.raw<string | undefined>();
  private keys = 0;

  tell(error: unknown): void {
    const { text, hint } = trouble(error);
    this.notice("error", text, hint);
  }

  notice(tone: Notice["tone"], text: string, hint = ""): void {
    this.keys += 1;
    this.notices = [...this.notices.slice(1 - MOST_NOTICES), { key: this.keys, tone, text, hint }];
  }

  /** Says something that nobody has to dismiss. */
  mention(text: string): void {
    this.notice("info", text);
    const { keys } = this;
    setTimeout(() => this.dismiss(keys), MENTIONED_MS);
  }

  dismiss(key: number): void {
    this.notices = this.notices.filter((notice) => notice.key !== key);
  }

  suggest(text: string): void {
    this.suggested = text;
  }

  ask(question: OpenQuestion): void {
    const deadline = question.timeout === undefined ? undefined : Date.now() + question.timeout;
    this.asked = [...this.asked.filter((asked) => asked.question.requestId !== question.requestId), { question, deadline }];
  }

  draw(drawn: Drawn): void {
    this.drawn = [...this.drawn.filter((one) => one.requestId !== drawn.requestId), drawn];
  }

  /** The question is settled for this page; the server tells the others. */
  forget(requestId: string): void {
    this.asked = this.asked.filter((asked) => asked.question.requestId !== requestId);
    this.drawn = this.drawn.filter((drawn) => drawn.requestId !== requestId);
  }

  announce(said: Announcement): void {
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

const ANNOUNCED = ["notify", "setStatus", "setWidget", "setTitle", "setWorkingMessage", "setEditorText"];

export function isAnnouncement(said: { method: string }): said is Announcement & { method: string } {
  return ANNOUNCED.includes(said.method);
}
