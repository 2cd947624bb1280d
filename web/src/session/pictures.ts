/** Pictures that somebody attaches: which of them models take, and what is made of the others. */
import type { Notices } from "../parts/notices.svelte";
import { t } from "../texts";
import type { Attachment, Draft } from "./draft.svelte";

/** Kinds that providers take. */
export const IMAGE_KINDS: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Bytes of a picture that are sent; providers take no larger ones, and one message has to fit. */
const LARGEST = 5_000_000;
/** Points along the longer side of what is made of one that is larger, from the finest on. */
const SIDES = [4000, 2500, 1600];
const QUALITY = 0.85;

/** What became of a file. */
type Taken =
  | { is: "taken"; picture: Attachment }
  /** Made anew as a JPEG, because it was too large or of a kind that models do not take. */
  | { is: "made"; picture: Attachment; bytes: number }
  | { is: "no-picture" }
  /** A picture that this browser cannot read, such as one of a phone's camera. */
  | { is: "unreadable"; kind: string }
  | { is: "too-large" };

/** Puts files into a draft as far as they are pictures, and says what became of the others. */
export async function attach(files: Iterable<File>, draft: Draft, notices: Notices): Promise<void> {
  for (const file of files) {
    const { name } = file;
    const taken = await take(file);
    switch (taken.is) {
      case "made":
        notices.notice("info", t("image.made", { name, from: size(file.size), to: size(taken.bytes) }));
        draft.attach([...draft.images, taken.picture]);
        break;
      case "taken":
        draft.attach([...draft.images, taken.picture]);
        break;
      case "no-picture":
        notices.advise(t("image.kind", { name }), t("image.kind.hint"));
        break;
      case "unreadable":
        notices.advise(t("image.unread", { name, kind: taken.kind }), t("image.unread.hint"));
        break;
      case "too-large":
        notices.advise(t("image.large", { name }), t("image.large.hint"));
        break;
    }
  }
}

/**
 * The pictures that somebody pastes. What has a text too is text: spreadsheets put a picture of their cells beside it. The names of the
 * files are no text.
 */
export function pastedPictures(data: DataTransfer | null): readonly File[] {
  const files = [...(data?.files ?? [])];
  const lines = (data?.getData("text/plain") ?? "").split(/\r?\n/).filter((line) => line.trim() !== "");
  const isText = lines.some((line) => !files.some(({ name }) => line.trim().endsWith(name)));
  return isText ? [] : files;
}

async function take(file: File): Promise<Taken> {
  const isTaken = IMAGE_KINDS.includes(file.type);
  if (isTaken && file.size <= LARGEST) {
    return { is: "taken", picture: await attachment(file, file.name) };
  }
  const kind = kindOf(file);
  if (kind === undefined) {
    return { is: "no-picture" };
  }
  const made = await asJpeg(file);
  if (made !== undefined) {
    return { is: "made", picture: await attachment(made, file.name), bytes: made.size };
  }
  return isTaken ? { is: "too-large" } : { is: "unreadable", kind };
}

/** What a picture is called by its kind; drawings that are programs, and what is none, are no pictures. */
function kindOf({ type, name }: File): string | undefined {
  if (/^image\/hei[cf]/.test(type) || /\.hei[cf]$/i.test(name)) {
    return "HEIC";
  }
  const [, kind = ""] = /^image\/(?:x-)?([a-z]+)$/.exec(type) ?? [];
  return kind === "" ? undefined : kind.toUpperCase();
}

/** As fine as it fits; nothing if the browser cannot read it. */
async function asJpeg(file: File): Promise<Blob | undefined> {
  // What cannot be read is told by whoever asked.
  const bitmap = await createImageBitmap(file).catch(() => undefined);
  if (bitmap === undefined) {
    return undefined;
  }
  try {
    for (const side of SIDES) {
      const made = await drawn(bitmap, Math.min(1, side / Math.max(bitmap.width, bitmap.height)));
      if (made !== undefined && made.size <= LARGEST) {
        return made;
      }
    }
    return undefined;
  } finally {
    bitmap.close();
  }
}

async function drawn(bitmap: ImageBitmap, scale: number): Promise<Blob | undefined> {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const pen = canvas.getContext("2d");
  if (pen === null) {
    return undefined;
  }
  // A JPEG has nothing that is seen through.
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? undefined), "image/jpeg", QUALITY));
}

function attachment(blob: Blob, name: string): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ type: "image", data: String(reader.result).replace(/^[^,]*,/, ""), mimeType: blob.type, name });
    reader.onerror = () => reject(reader.error ?? new Error(name));
    reader.readAsDataURL(blob);
  });
}

function size(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
