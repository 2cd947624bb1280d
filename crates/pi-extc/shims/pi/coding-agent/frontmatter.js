// Frontmatter of Markdown files. The YAML that stands in such places: members, lists, texts over several lines. Not here:
// anchors, tags and documents.



function scalar(text) {
  const value = text.trim();
  if (value === "" || value === "~" || value === "null") return null;
  if (/^"(?:[^"\\]|\\.)*"$/s.test(value)) {
    try {
      return JSON.parse(value);
    } catch {
      return value.slice(1, -1);
    }
  }
  if (/^'(?:[^']|'')*'$/s.test(value)) return value.slice(1, -1).replace(/''/g, "'");
  if (value === "true" || value === "True") return true;
  if (value === "false" || value === "False") return false;
  if (/^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(value)) return Number(value);
  if (/^[[{]/.test(value)) return flow(value);
  return value;
}

/** `[a, b]` and `{a: 1}`. */
function flow(text) {
  let at = 0;
  const space = () => { while (/\s/.test(text[at] ?? "")) at++; };
  const value = () => {
    space();
    if (text[at] === "[") return list();
    if (text[at] === "{") return record();
    const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text.slice(at));
    const plain = quoted?.[0] ?? /^[^,\]}]*/.exec(text.slice(at))[0];
    at += plain.length;
    return scalar(plain);
  };
  const list = () => {
    const made = [];
    at++;
    for (space(); at < text.length && text[at] !== "]"; space()) {
      made.push(value());
      space();
      if (text[at] === ",") at++;
    }
    at++;
    return made;
  };
  const record = () => {
    const made = {};
    at++;
    for (space(); at < text.length && text[at] !== "}"; space()) {
      const key = /^\s*("[^"]*"|'[^']*'|[^:,}]*)\s*:?/.exec(text.slice(at));
      at += key[0].length;
      made[String(scalar(key[1]) ?? "")] = value();
      space();
      if (text[at] === ",") at++;
    }
    at++;
    return made;
  };
  return value();
}

const indentOf = (line) => /^ */.exec(line)[0].length;
const bare = (line) => line.replace(/(^|\s)#(?=\s|$|!)[^\n]*$/, (own, before, offset) => (/^[^"']*(?:(?:"[^"]*"|'[^']*')[^"']*)*$/.test(line.slice(0, offset)) ? before : own)).trimEnd();

export function parseYaml(text) {
  const lines = text.split(/\r?\n/).map((line) => (/^\s*#/.test(line) ? "" : line));
  let at = 0;
  const blank = () => { while (at < lines.length && lines[at].trim() === "") at++; };

  const block = (indent) => {
    blank();
    if (at >= lines.length || indentOf(lines[at]) < indent) return null;
    return /^\s*-(?:\s|$)/.test(lines[at]) ? list(indentOf(lines[at])) : record(indentOf(lines[at]));
  };

  const list = (indent) => {
    const made = [];
    for (blank(); at < lines.length && indentOf(lines[at]) === indent && /^\s*-(?:\s|$)/.test(lines[at]); blank()) {
      const rest = lines[at].slice(indent + 1);
      const inner = rest.trim();
      if (inner === "") {
        at++;
        made.push(block(indent + 1));
      } else if (/^[^"'[{][^:]*:(?:\s|$)/.test(inner)) {
        lines[at] = `${" ".repeat(indent + 1 + (rest.length - rest.trimStart().length))}${rest.trimStart()}`;
        made.push(record(indentOf(lines[at])));
      } else {
        at++;
        made.push(scalar(bare(inner)));
      }
    }
    return made;
  };

  const record = (indent) => {
    const made = {};
    for (blank(); at < lines.length && indentOf(lines[at]) === indent; blank()) {
      const found = /^\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s:#"'-][^:]*?|-[^\s:][^:]*?)\s*:(?:\s+(.*)|\s*)$/.exec(lines[at]);
      if (!found) throw new Error(`YAML: line ${at + 1} is not "key: value": ${lines[at].trim()}`);
      at++;
      made[String(scalar(found[1]))] = member(indent, found[2] ?? "");
    }
    return made;
  };

  const member = (indent, rest) => {
    const mark = /^([|>])([+-]?)\d*\s*$/.exec(rest.trim());
    if (mark) return longText(indent, mark[1], mark[2]);
    const value = bare(rest);
    if (value.trim() === "") {
      blank();
      const isNested = at < lines.length && (indentOf(lines[at]) > indent || (indentOf(lines[at]) === indent && /^\s*-(?:\s|$)/.test(lines[at])));
      return isNested ? block(indentOf(lines[at])) : null;
    }
    // A plain text may go on in lines that stand further in.
    let whole = value;
    while (at < lines.length && lines[at].trim() !== "" && indentOf(lines[at]) > indent) whole += ` ${bare(lines[at++]).trim()}`;
    return scalar(whole);
  };

  const longText = (indent, kind, keep) => {
    const taken = [];
    while (at < lines.length && (lines[at].trim() === "" || indentOf(lines[at]) > indent)) taken.push(lines[at++]);
    const margin = Math.min(...taken.filter((line) => line.trim() !== "").map(indentOf));
    const plain = taken.map((line) => line.slice(Number.isFinite(margin) ? margin : 0));
    let textOf = kind === "|" ? plain.join("\n") : plain.join("\n").replace(/([^\n])\n(?=[^\n ])/g, "$1 ").replace(/\n\n/g, "\n");
    textOf = textOf.replace(/\n+$/, "");
    return keep === "-" ? textOf : `${textOf}\n`;
  };

  const made = block(0);
  blank();
  if (at < lines.length) throw new Error(`YAML: line ${at + 1} stands too far out: ${lines[at].trim()}`);
  return made;
}

function split(content) {
  const text = content.replace(/\r\n?/g, "\n");
  if (!text.startsWith("---")) return { yaml: undefined, body: text };
  const end = text.indexOf("\n---", 3);
  if (end < 0) return { yaml: undefined, body: text };
  return { yaml: text.slice(4, end), body: text.slice(end + 4).trim() };
}

export function parseFrontmatter(content) {
  const { yaml, body } = split(content);
  if (yaml === undefined) return { frontmatter: {}, body };
  return { frontmatter: parseYaml(yaml) ?? {}, body };
}
export const stripFrontmatter = (content) => split(content).body;

/** `<skill name= location=>…</skill>` and what the user wrote behind it. */
export function parseSkillBlock(text) {
  const found = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  if (!found) return null;
  return { name: found[1], location: found[2], content: found[3], userMessage: found[4]?.trim() || undefined };
}
