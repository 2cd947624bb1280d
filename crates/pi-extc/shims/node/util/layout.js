// How `inspect` puts parts on lines: quoting of strings, grouping of long lists, one line or several.

const MEANINGS = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };

/** A string in the quotes that need the fewest escapes. */
export function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") && !text.includes("${") ? "`" : "'";
  const escaped = text.replace(/[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (char) => {
    if (char === "'") return mark === "'" ? "\\'" : char;
    if (MEANINGS[char]) return MEANINGS[char];
    const code = char.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).toUpperCase().padStart(2, "0")}` : `\\u${code.toString(16).toUpperCase()}`;
  });
  return mark + escaped + mark;
}

const ESCAPES = /\x1b\[[0-9;]*m/g;
const shownLength = (text, options) => (options.colors ? text.replace(ESCAPES, "") : text).length;

/**
 * Joins the parts of a list or object.
 * @param {object} context what `inspect` carries along; `indentation` and `deepest` are read
 */
export function join(context, parts, base, braces, isList, depth, value) {
  const { compact, breakLength } = context.options;
  const head = base ? `${base} ` : "";
  if (compact !== false && compact !== true) {
    const entries = parts.length;
    if (isList && entries > 6) parts = inColumns(context, parts, value);
    if (context.deepest - depth < compact && entries === parts.length) {
      const start = parts.length + context.indentation + braces[0].length + base.length + 10;
      if (fits(context, parts, start, base, breakLength)) {
        const line = parts.join(", ");
        if (!line.includes("\n")) return `${head}${braces[0]} ${line} ${braces[1]}`;
      }
    }
  } else if (compact === true && fits(context, parts, 0, base, breakLength)) {
    return `${braces[0]}${base ? ` ${base}` : ""} ${parts.join(", ")} ${braces[1]}`;
  }
  const margin = `\n${" ".repeat(context.indentation)}`;
  return `${head}${braces[0]}${margin}  ${parts.join(`,${margin}  `)}${margin}${braces[1]}`;
}

function fits({ options }, parts, start, base, breakLength) {
  let total = parts.length + start;
  if (total + parts.length > breakLength) return false;
  for (const part of parts) {
    total += shownLength(part, options);
    if (total > breakLength) return false;
  }
  return !base.includes("\n");
}

// Many short items stand in columns, numbers to the right and texts to the left.
function inColumns(context, parts, value) {
  const { options, indentation } = context;
  const hasMore = options.maxArrayLength < parts.length && value !== undefined && parts.length > options.maxArrayLength;
  const count = hasMore ? parts.length - 1 : parts.length;
  const lengths = [];
  let total = 0;
  let longest = 0;
  for (let i = 0; i < count; i++) {
    const length = shownLength(parts[i], options);
    lengths.push(length);
    total += length + 2;
    longest = Math.max(longest, length);
  }
  const widest = longest + 2;
  const isWorthIt = widest * 3 + indentation < options.breakLength && (total / widest > 5 || longest <= 6);
  if (!isWorthIt) return parts;
  const bias = Math.sqrt(widest - total / parts.length);
  const usual = Math.max(widest - 3 - bias, 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * usual * count) / usual),
    Math.floor((options.breakLength - indentation) / widest),
    options.compact * 4,
    15,
  );
  if (columns <= 1) return parts;
  const widths = [];
  for (let column = 0; column < columns; column++) {
    let width = 0;
    for (let i = column; i < count; i += columns) width = Math.max(width, lengths[i]);
    widths.push(width + 2);
  }
  const isNumeric = value !== undefined && value.length >= count && everyNumber(value, count);
  const rows = [];
  for (let start = 0; start < count; start += columns) {
    const end = Math.min(start + columns, count);
    let row = "";
    for (let i = start; i < end; i++) {
      const isLast = i === end - 1;
      const text = isLast ? parts[i] : `${parts[i]}, `;
      const pad = widths[i - start] + parts[i].length - lengths[i];
      row += isNumeric ? text.padStart(isLast ? pad - 2 : pad) : isLast ? text : text.padEnd(pad);
    }
    rows.push(row);
  }
  if (hasMore) rows.push(parts[count]);
  return rows;
}

function everyNumber(value, count) {
  for (let i = 0; i < count; i++) if (typeof value[i] !== "number" && typeof value[i] !== "bigint") return false;
  return true;
}
