/** What the page has to say to a person: what went wrong stands there until it is dismissed or another view is opened, news fade. */
import { trouble } from "../link/link.svelte";

export interface Notice {
  key: number;
  tone: "info" | "warning" | "error";
  text: string;
  hint: string;
  /** The extension whose words these are; the page's own if there is none. */
  extensionId: string | undefined;
}

/** Older notices make room. */
const MOST_NOTICES = 5;
const MENTIONED_MS = 4000;
/** So long news can be read, by whoever sees them. */
const NEWS_MS = 12_000;
/** And what an extension warns of: it may do so again and again, and nobody else says that it is over. */
const WARNED_MS = 60_000;

export class Notices {
  notices = $state.raw<readonly Notice[]>([]);
  private keys = 0;

  tell(error: unknown): void {
    const { text, hint } = trouble(error);
    this.notice("error", text, hint);
  }

  notice(tone: Notice["tone"], text: string, hint = "", extensionId?: string): void {
    this.keys += 1;
    this.notices = [...this.notices.slice(1 - MOST_NOTICES), { key: this.keys, tone, text, hint, extensionId }];
    if (tone === "info") {
      this.fade(this.keys, NEWS_MS);
    } else if (tone === "warning" && extensionId !== undefined) {
      this.fade(this.keys, WARNED_MS);
    }
  }

  /** Says something that nobody has to dismiss. */
  mention(text: string): void {
    this.notice("info", text);
    this.fade(this.keys, MENTIONED_MS);
  }

  private fade(key: number, ms: number): void {
    setTimeout(() => this.dismiss(key), ms);
  }

  dismiss(key: number): void {
    this.notices = this.notices.filter((notice) => notice.key !== key);
  }

  clear(): void {
    this.notices = [];
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
}

/** Those of the page, which belong to no session that is shown. */
export const notices = new Notices();
