// Markdown as lines of styled text: headings, lists, quotes, code, tables, rules, links and emphasis. Not here: HTML, footnotes
// and reference links, which are shown as they are written.
import { applyBackgroundToLine, visibleWidth, wrapTextWithAnsi } from "pi:shim/pi/tui/width";

export class Markdown {
  #text;
  #x;
  #y;
  #theme;
  #style;
  #cache;
  constructor(text, paddingX, paddingY, theme, defaultTextStyle) {
    this.#text = text;
    this.#x = paddingX;
    this.#y = paddingY;
    this.#theme = theme;
    this.#style = defaultTextStyle ?? {};
  }
  setText(text) { this.#text = text; this.#cache = undefined; }
  invalidate() { this.#cache = undefined; }
  render(width) {
    if (this.#cache?.width === width) return this.#cache.lines;
    const text = (this.#text ?? "").replace(/\t/g, "   ");
    const lines = text.trim() === "" ? [] : this.#framed(width, text);
    this.#cache = { width, lines };
    return lines;
  }
  #framed(width, text) {
    const room = Math.max(1, width - 2 * this.#x);
    const margin = " ".repeat(this.#x);
    const { bgColor } = this.#style;
    const fill = (line) => (bgColor ? applyBackgroundToLine(line, width, bgColor) : line + " ".repeat(Math.max(0, width - visibleWidth(line))));
    const blank = Array.from({ length: this.#y }, () => fill(""));
    const body = blocks(text.split("\n"), this.#theme, (plain) => styled(plain, this.#style, this.#theme), room);
    return [...blank, ...body.flatMap((line) => wrapTextWithAnsi(line, room)).map((line) => fill(margin + line + margin)), ...blank];
  }
}

function styled(text, style, theme) {
  let made = text;
  if (style.bold) made = theme.bold(made);
  if (style.italic) made = theme.italic(made);
  if (style.strikethrough) made = theme.strikethrough(made);
  if (style.underline) made = theme.underline(made);
  return style.color ? style.color(made) : made;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}(?:-\s*){3,}$|^ {0,3}(?:\*\s*){3,}$|^ {0,3}(?:_\s*){3,}$/;

function blocks(lines, theme, plain, width) {
  const made = [];
  const gap = () => { if (made.length > 0 && made.at(-1) !== "") made.push(""); };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (line.trim() === "") {
      gap();
    } else if (fence) {
      const end = lines.findIndex((own, index) => index > at && own.trim().startsWith(fence[1][0].repeat(fence[1].length)) && /^\s*[`~]+\s*$/.test(own));
      const code = lines.slice(at + 1, end < 0 ? lines.length : end);
      made.push(...codeBlock(code, fence[2], theme), "");
      at = end < 0 ? lines.length : end;
    } else if (heading) {
      gap();
      const level = heading[1].length;
      const text = inline(heading[2], theme, (own) => theme.heading(theme.bold(own)));
      made.push(level === 1 ? theme.underline(text) : level === 2 ? text : `${theme.heading(theme.bold(`${heading[1]} `))}${text}`, "");
    } else if (RULE.test(line)) {
      made.push(theme.hr("─".repeat(Math.min(width, 80))), "");
    } else if (/^ {0,3}>/.test(line)) {
      const quoted = takeWhile(lines, at, (own) => /^ {0,3}>/.test(own) || (own.trim() !== "" && !ITEM.test(own) && !FENCE.test(own)));
      const inner = blocks(quoted.map((own) => own.replace(/^ {0,3}> ?/, "")), theme, (own) => theme.quote(theme.italic(own)), width - 2);
      while (inner.at(-1) === "") inner.pop();
      made.push(...inner.flatMap((own) => wrapTextWithAnsi(own, Math.max(1, width - 2))).map((own) => `${theme.quoteBorder("│ ")}${own}`), "");
      at += quoted.length - 1;
    } else if (isTable(lines, at)) {
      const rows = takeWhile(lines, at, (own) => own.includes("|"));
      made.push(...table(rows, theme, plain, width), "");
      at += rows.length - 1;
    } else if (ITEM.test(line)) {
      const items = takeWhile(lines, at, (own, index) => ITEM.test(own) || (/^\s{2,}\S/.test(own)) || (own.trim() === "" && (ITEM.test(lines[index + 1] ?? "") || /^\s{2,}\S/.test(lines[index + 1] ?? ""))));
      made.push(...list(items, theme, plain), "");
      at += items.length - 1;
    } else {
      const text = takeWhile(lines, at, (own, index) => own.trim() !== "" && (index === at || (!FENCE.test(own) && !/^ {0,3}#{1,6}\s/.test(own) && !ITEM.test(own) && !/^ {0,3}>/.test(own) && !RULE.test(own))));
      made.push(...text.map((own) => inline(own.trim().replace(/\\$/, ""), theme, plain)), "");
      at += text.length - 1;
    }
  }
  while (made.at(-1) === "") made.pop();
  return made;
}

function takeWhile(lines, from, test) {
  let end = from;
  while (end < lines.length && test(lines[end], end)) end++;
  return lines.slice(from, Math.max(end, from + 1));
}

function codeBlock(code, language, theme) {
  const indent = theme.codeBlockIndent ?? "  ";
  const lines = theme.highlightCode ? theme.highlightCode(code.join("\n"), language || undefined) : code.map((line) => theme.codeBlock(line));
  return [theme.codeBlockBorder(`\`\`\`${language}`), ...lines.map((line) => indent + line), theme.codeBlockBorder("```")];
}

function list(lines, theme, plain) {
  const made = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item) {
      const depth = Math.floor(item[1].length / 2);
      const task = /^\[([ xX])\]\s+(.*)$/.exec(item[3]);
      const mark = /^\d/.test(item[2]) ? item[2].replace(")", ".") : "-";
      const text = task ? `[${task[1] === " " ? " " : "x"}] ${task[2]}` : item[3];
      made.push(`${"    ".repeat(depth)}${theme.listBullet(`${mark} `)}${inline(text, theme, plain)}`);
    } else if (line.trim() !== "") made.push(`  ${inline(line.trim(), theme, plain)}`);
  }
  return made;
}

const isTable = (lines, at) => lines[at].includes("|") && /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-");

function table(lines, theme, plain, width) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replace(/\\\|/g, "|"), theme, plain));
  const [head, , ...rest] = lines;
  const rows = [cells(head).map((cell) => theme.bold(cell)), ...rest.map(cells)];
  const count = rows[0].length;
  const widths = Array.from({ length: count }, (_, at) => Math.max(1, ...rows.map((row) => visibleWidth(row[at] ?? ""))));
  // Wide columns give room until the table fits.
  while (widths.reduce((sum, own) => sum + own, 0) + 3 * count + 1 > width && Math.max(...widths) > 5) widths[widths.indexOf(Math.max(...widths))]--;
  const rule = (left, middle, right) => `${left}─${widths.map((own) => "─".repeat(own)).join(`─${middle}─`)}─${right}`;
  const made = [rule("┌", "┬", "┐")];
  for (const [index, row] of rows.entries()) {
    const wrapped = widths.map((own, at) => wrapTextWithAnsi(row[at] ?? "", own));
    for (let line = 0; line < Math.max(...wrapped.map((own) => own.length)); line++) {
      made.push(`│ ${wrapped.map((own, at) => (own[line] ?? "") + " ".repeat(Math.max(0, widths[at] - visibleWidth(own[line] ?? "")))).join(" │ ")} │`);
    }
    if (index < rows.length - 1) made.push(rule("├", "┼", "┤"));
  }
  return [...made, rule("└", "┴", "┘")];
}

const INLINE = /(?<code>(`+)(?!`)([^]*?[^`])\2(?!`))|(?<image>!?\[([^\]]*)\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\))|(?<auto><?(https?:\/\/[^\s<>)]+)>?)|(?<bold>\*\*(?=\S)([^]*?\S)\*\*|__(?=\S)([^]*?\S)__(?!\w))|(?<strike>~~(?=\S)([^]*?\S)~~)|(?<italic>\*(?=[^\s*])([^*]*?[^\s*])\*(?!\*)|(?<!\w)_(?=\S)([^_]*?\S)_(?!\w))|(?<escape>\\([!-/:-@[-`{-~]))/;

/** Text inside a line. What is not marked goes through `plain`. */
function inline(text, theme, plain) {
  let made = "";
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    if (found.index > 0) made += plain(rest.slice(0, found.index));
    const { code, image, auto, bold, strike, italic } = found.groups;
    if (code) made += theme.code(found[3].trim());
    else if (image) {
      const label = found[5] || found[6];
      made += theme.link(theme.underline(label)) + (label === found[6] || `mailto:${label}` === found[6] ? "" : theme.linkUrl(` (${found[6]})`));
    } else if (auto) made += theme.link(theme.underline(found[8]));
    else if (bold) made += theme.bold(inline(found[10] ?? found[11], theme, plain));
    else if (strike) made += theme.strikethrough(inline(found[13], theme, plain));
    else if (italic) made += theme.italic(inline(found[15] ?? found[16], theme, plain));
    else made += plain(found[18]);
    rest = rest.slice(found.index + found[0].length);
  }
  return rest === "" ? made : made + plain(rest);
}
