/**
 * What the page has to say to a person. News go when they were there long enough to be read; what warns or went wrong stays until it is
 * dismissed or another view is opened, and what warns about a message until one is sent. The same once more is counted and not said beside itself.
 */
import { hasCode, trouble } from "../link/link.svelte";

export interface Notice {
  key: number;
  tone: "info" | "warning" | "error";
  text: string;
  hint: string;
  /** The extension whose words these are; the page's own if there is none. */
  extensionId: string | undefined;
  /** How often it was said. */
  count: number;
}

/** So many are shown; the others are folded. */
export const MOST_SHOWN = 3;
/** So many are kept: whoever speaks without end pushes out what was said first. */
const MOST_KEPT = 50;
/** How long news stay: so long at least, longer for every letter, and never longer than this. */
const NEWS_MS = 5000;
const LETTER_MS = 60;
const LONGEST_MS = 15_000;
/** And at least so long after somebody has let go of them. */
const LET_GO_MS = 2000;

const WEIGHTS: Record<Notice["tone"], number> = { error: 2, warning: 1, info: 0 };

/** News on their way out. */
interface Fading {
  left: number;
  /** Since when the time runs; nothing while they are held. */
  running: { since: number; timer: ReturnType<typeof setTimeout> } | undefined;
}

export class Notices {
  notices = $state.raw<readonly Notice[]>([]);
  private keys = 0;
  private isHeld = false;
  /** The keys of those that go with the next message. */
  private readonly advice = new Set<number>();
  private readonly fading = new Map<number, Fading>();

  tell(error: unknown): void {
    const { text, hint } = trouble(error);
    // What somebody stopped did not go wrong.
    this.notice(hasCode(error, "aborted") ? "info" : "error", text, hint);
  }

  notice(tone: Notice["tone"], text: string, hint = "", extensionId?: string): void {
    const before = this.notices.find((one) => one.tone === tone && one.text === text && one.hint === hint && one.extensionId === extensionId);
    this.keys += 1;
    const said = { key: before?.key ?? this.keys, tone, text, hint, extensionId, count: (before?.count ?? 0) + 1 };
    this.keep([...this.notices.filter((one) => one !== before), said].slice(-MOST_KEPT));
    if (tone === "info") {
      this.fade(said.key, Math.min(NEWS_MS + LETTER_MS * (text.length + hint.length), LONGEST_MS));
    }
  }

  /** Warns about something that was not sent, or not as it stood there: it is old when something is sent. */
  advise(text: string, hint = ""): void {
    this.notice("warning", text, hint);
    this.advice.add(this.notices.at(-1)?.key ?? 0);
  }

  /** Something was sent. */
  endAdvice(): void {
    this.keep(this.notices.filter(({ key }) => !this.advice.has(key)));
    this.advice.clear();
  }

  /** Somebody is at them, or nobody can see them: nothing goes meanwhile. */
  hold(): void {
    this.isHeld = true;
    for (const fading of this.fading.values()) {
      halt(fading);
    }
  }

  letGo(): void {
    this.isHeld = false;
    for (const [key, { left }] of this.fading) {
      this.fade(key, Math.max(left, LET_GO_MS));
    }
  }

  dismiss(key: number): void {
    this.keep(this.notices.filter((notice) => notice.key !== key));
  }

  clear(): void {
    this.keep([]);
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

  private keep(notices: readonly Notice[]): void {
    this.notices = notices;
    for (const [key, fading] of this.fading) {
      if (!notices.some((notice) => notice.key === key)) {
        halt(fading);
        this.fading.delete(key);
      }
    }
  }

  private fade(key: number, left: number): void {
    const before = this.fading.get(key);
    if (before !== undefined) {
      halt(before);
    }
    const running = this.isHeld ? undefined : { since: Date.now(), timer: setTimeout(() => this.dismiss(key), left) };
    this.fading.set(key, { left, running });
  }
}

function halt(fading: Fading): void {
  if (fading.running !== undefined) {
    clearTimeout(fading.running.timer);
    fading.left -= Date.now() - fading.running.since;
    fading.running = undefined;
  }
}

/** Those that are shown where not all are: the newest, which answers what was done last, and of the others what weighs most. */
export function shown(notices: readonly Notice[], most = MOST_SHOWN): readonly Notice[] {
  const last = notices.at(-1);
  const byWeight = notices.slice(0, -1).toSorted((one, other) => WEIGHTS[other.tone] - WEIGHTS[one.tone] || other.key - one.key);
  const few = new Set([...byWeight.slice(0, most - 1), ...(last === undefined ? [] : [last])]);
  return notices.filter((notice) => few.has(notice));
}

/** Those of the page, which belong to no session that is shown. */
export const notices = new Notices();
