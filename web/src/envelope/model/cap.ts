/** Long texts in pieces: a page that is given ten megabytes shows the beginning, and more when it is asked to. */

export interface Cut {
  /** What is shown, in blocks that a browser can skip while they are out of sight. */
  blocks: string[];
  /** Characters (UTF-16) that are left. */
  left: number;
}

const BLOCK = 32_768;

/** The first `limit` units of a text, ended at a line if one ends nearby, and never inside a character. */
export function cut(text: string, limit: number): Cut {
  const end = text.length <= limit ? text.length : ending(text, limit);
  const blocks: string[] = [];
  for (let start = 0; start < end; ) {
    const stop = end - start <= BLOCK ? end : ending(text, start + BLOCK);
    blocks.push(text.slice(start, stop));
    start = stop;
  }
  return { blocks, left: text.length - end };
}

/** The first lines of a text, as a limit for {@link cut}. */
export function lineLimit(text: string, lines: number, most: number): number {
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at === -1 || at > most) {
      return most;
    }
  }
  return at;
}

function ending(text: string, limit: number): number {
  const line = text.lastIndexOf("\n", limit - 1);
  if (line >= limit - 400 && line > 0) {
    return line + 1;
  }
  const unit = text.charCodeAt(limit - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? limit - 1 : limit;
}

/** How full each part of a text is, from 0 to 1: the picture of a page from far away. */
export function minimap(text: string, rows: number): number[] {
  const lines = text.split("\n");
  const count = Math.max(1, Math.min(rows, lines.length));
  const most = 100;
  return Array.from({ length: count }, (_, row) => {
    const part = lines.slice(Math.floor((row * lines.length) / count), Math.floor(((row + 1) * lines.length) / count));
    const length = part.reduce((all, line) => all + Math.min(most, line.trimEnd().length), 0) / Math.max(1, part.length);
    return Math.round((length / most) * 100) / 100;
  });
}

export interface Section {
  level: number;
  title: string;
  text: string;
}

const MOST_SECTIONS = 120;

/** A text divided at its Markdown headings; what comes before the first has no title. Headings in fenced code are none. */
export function sections(text: string): Section[] {
  const found: Section[] = [];
  let isFenced = false;
  let start = 0;
  let open: { level: number; title: string } = { level: 0, title: "" };
  for (let at = 0; at <= text.length && found.length < MOST_SECTIONS; ) {
    const stop = text.indexOf("\n", at);
    const end = stop === -1 ? text.length : stop;
    const line = text.slice(at, Math.min(end, at + 200));
    if (/^\s*(```|~~~)/.test(line)) {
      isFenced = !isFenced;
    }
    const heading = isFenced ? null : /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
    if (heading !== null) {
      if (at > start || open.level > 0) {
        found.push({ ...open, text: text.slice(start, at) });
      }
      open = { level: (heading[1] as string).length, title: heading[2] as string };
      start = at;
    }
    at = end + 1;
  }
  found.push({ ...open, text: text.slice(start) });
  return found;
}

/** Pictures and sounds that are in the file itself and are nothing else. Everything else is shown as its address. */
export function isShowable(mediaType: string, url: string): boolean {
  const formats: Record<string, RegExp> = {
    image: /^data:image\/(png|jpeg|gif|webp);base64,/i,
    audio: /^data:audio\/(mpeg|mp3|wav|x-wav|ogg|webm|mp4|aac|flac)(;[^,]*)?,/i,
    video: /^data:video\/(mp4|webm|ogg)(;[^,]*)?,/i,
  };
  return formats[mediaType]?.test(url) ?? false;
}
