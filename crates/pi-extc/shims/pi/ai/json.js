// JSON that is not finished yet, or not quite JSON.

/** Escapes control characters inside strings, and backslashes that escape nothing. */
export function repairJson(text) {
  let made = "";
  let isInside = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (!isInside) {
      if (char === '"') isInside = true;
      made += char;
    } else if (char === "\\") {
      const next = text[i + 1];
      if (next !== undefined && (/["\\/bfnrt]/.test(next) || (next === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(i + 2, i + 6))))) {
        made += char + next;
        i++;
      } else made += "\\\\";
    } else if (char === '"') {
      isInside = false;
      made += char;
    } else made += char < " " ? ({ "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" }[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`) : char;
  }
  return made;
}

export function parseJsonWithRepair(text) {
  try {
    return JSON.parse(text);
  } catch (fault) {
    const repaired = repairJson(text);
    if (repaired === text) throw fault;
    return JSON.parse(repaired);
  }
}

/** What can be read of JSON so far; an object in any case. */
export function parseStreamingJson(text) {
  if (!text || text.trim() === "") return {};
  for (const candidate of [text, repairJson(text)]) {
    try {
      return JSON.parse(candidate);
    } catch {
      const value = partial(candidate);
      if (value !== undefined) return value;
    }
  }
  return {};
}

/** Closes what is open, and drops what was just begun, until it can be read. */
function partial(text) {
  for (let end = text.length; end > 0; end--) {
    const closed = close(text.slice(0, end));
    try {
      return JSON.parse(closed);
    } catch {
      continue;
    }
  }
  return undefined;
}

function close(text) {
  const open = [];
  let isInside = false;
  for (let i = 0; i < text.length; i++) {
    if (isInside) {
      if (text[i] === "\\") i++;
      else if (text[i] === '"') isInside = false;
    } else if (text[i] === '"') isInside = true;
    else if (text[i] === "{" || text[i] === "[") open.push(text[i] === "{" ? "}" : "]");
    else if (text[i] === "}" || text[i] === "]") open.pop();
  }
  const word = isInside ? undefined : /(?<=[[:,\s])(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)$/.exec(text)?.[0];
  const rest = word === undefined ? "" : { t: "true", f: "false", n: "null" }[word[0]].slice(word.length);
  return text.replace(/\\$/, isInside ? "" : "\\") + rest + (isInside ? '"' : "") + open.reverse().join("");
}
