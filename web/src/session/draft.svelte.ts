/**
 * What somebody is about to say to a session: words and pictures. It outlives the editor, which goes when another view of the session
 * or another session is opened, and as far as there is room a reload of the page too.
 */
import { QUIET_MS } from "../parts/focus";
import { t } from "../texts";

export type Picture = { type: "image"; data: string; mimeType: string };
export type Attachment = Picture & { name: string };

/** Stands for the conversation among those who wrote in a draft: what was said came back, by whomever. No extension has this name. */
export const CONVERSATION = "";

/** What comes of sending: it goes, nobody can have read it yet, or somebody has to say so again. */
export type Verdict = "send" | "early" | "again";

export class Draft {
  text = $state.raw("");
  images = $state.raw<readonly Attachment[]>([]);
  /** Who wrote in it beside the person; usually nobody. */
  authors = $state.raw<readonly string[]>([]);
  /** When an extension changed it last. */
  private changedAt = Number.NEGATIVE_INFINITY;
  /** For which text it was to be sent once, and when. */
  private asked: { text: string; at: number } | undefined;
  private readonly key: string;

  constructor(session: string) {
    this.key = `pi.draft.${session}`;
    this.text = read(this.key) ?? "";
    this.images = JSON.parse(read(`${this.key}.images`) ?? "[]") as Attachment[];
    this.authors = JSON.parse(read(`${this.key}.authors`) ?? "[]") as string[];
  }

  /** Those who answer for what is sent. */
  get answerable(): readonly string[] {
    return this.authors.filter((author) => author !== CONVERSATION);
  }

  /** Whether it does more than being said to the model, and the person did not write it alone. */
  get isForeignCall(): boolean {
    return this.authors.length > 0 && /^[!/]/.test(this.text.trim());
  }

  /** Writes in the place of the person. */
  rewrite(text: string, author: string): void {
    if (text === this.text) {
      return;
    }
    if (author !== CONVERSATION) {
      this.changedAt = performance.now();
    }
    this.asked = undefined;
    this.keepAuthors([...new Set([...this.authors, author])]);
    this.write(text);
  }

  /**
   * Whether it is sent. Extensions write in it at any moment, also just before somebody presses Enter: what they changed goes only when it
   * could be read, and what would run as a command when somebody who read that it is theirs sends it again.
   */
  judge(): Verdict {
    const now = performance.now();
    if (now < this.changedAt + QUIET_MS) {
      return "early";
    }
    if (!this.isForeignCall) {
      return "send";
    }
    if (this.asked?.text !== this.text) {
      this.asked = { text: this.text, at: now };
      return "again";
    }
    return now < this.asked.at + QUIET_MS ? "again" : "send";
  }

  get isEmpty(): boolean {
    return this.text === "" && this.images.length === 0;
  }

  write(text: string): void {
    this.text = text;
    write(this.key, text);
    if (text === "") {
      this.keepAuthors([]); // Nothing of it is theirs any more.
    }
  }

  private keepAuthors(authors: readonly string[]): void {
    this.authors = authors;
    write(`${this.key}.authors`, authors.length === 0 ? "" : JSON.stringify(authors));
  }

  attach(images: readonly Attachment[]): void {
    this.images = images;
    write(`${this.key}.images`, images.length === 0 ? "" : JSON.stringify(images));
  }

  clear(): void {
    this.write("");
    this.attach([]);
  }
}

/** Where somebody begins there is no session yet; no session has this name. */
export const HOME = "~home";

const drafts = new Map<string, Draft>();

/** The draft for a session; the same one for everybody who asks. */
export function draftOf(session: string): Draft {
  let draft = drafts.get(session);
  if (draft === undefined) {
    draft = new Draft(session);
    drafts.set(session, draft);
  }
  return draft;
}

/** Pictures of a message, for the editor. */
export function attachments(images: readonly { data: string; mimeType: string }[]): Attachment[] {
  return images.map(({ data, mimeType }) => ({ type: "image", data, mimeType, name: t("picture.alt", { type: mimeType }) }));
}

export function read(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined; // Storage is off.
  }
}

/** Keeps a text for a reload of the page, if there is room; nothing is kept of an empty one. */
export function write(key: string, text: string): void {
  try {
    // What is there is old, also if there is no room for what is new.
    sessionStorage.removeItem(key);
    if (text !== "") {
      sessionStorage.setItem(key, text);
    }
  } catch {
    // Storage is off or full: it is kept as long as the page is.
  }
}
