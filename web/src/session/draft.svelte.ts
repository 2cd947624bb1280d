/**
 * What somebody is about to say to a session: words and pictures. It outlives the editor, which goes when another view of the session
 * or another session is opened, and as far as there is room a reload of the page too.
 */
import { t } from "../texts";

export type Picture = { type: "image"; data: string; mimeType: string };
export type Attachment = Picture & { name: string };

export class Draft {
  text = $state.raw("");
  images = $state.raw<readonly Attachment[]>([]);
  private readonly key: string;

  constructor(session: string) {
    this.key = `pi.draft.${session}`;
    this.text = read(this.key) ?? "";
    this.images = JSON.parse(read(`${this.key}.images`) ?? "[]") as Attachment[];
  }

  get isEmpty(): boolean {
    return this.text === "" && this.images.length === 0;
  }

  write(text: string): void {
    this.text = text;
    write(this.key, text);
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
