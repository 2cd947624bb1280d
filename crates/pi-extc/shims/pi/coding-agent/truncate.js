// Cutting texts that are too long for a model, by lines and by bytes, never inside a line.
import host from "pi:host";

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

const bytesOf = (text) => host.utf8Encode(text).length;

export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)}KB` : `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

function record(content, options) {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const lines = content.split("\n");
  const totalBytes = bytesOf(content);
  const whole = { content, truncated: false, truncatedBy: null, totalLines: lines.length, totalBytes, outputLines: lines.length, outputBytes: totalBytes, lastLinePartial: false, firstLineExceedsLimit: false, maxLines, maxBytes };
  return { lines, whole, fits: lines.length <= maxLines && totalBytes <= maxBytes };
}

const part = (whole, lines, truncatedBy, more = {}) => {
  const content = lines.join("\n");
  return { ...whole, content, truncated: true, truncatedBy, outputLines: lines.length, outputBytes: bytesOf(content), ...more };
};

/** Takes lines while they fit; says which limit was hit. */
function take(lines, { maxLines, maxBytes }) {
  const kept = [];
  let used = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) return { kept, by: "lines" };
    const size = bytesOf(line) + (kept.length > 0 ? 1 : 0);
    if (used + size > maxBytes) return { kept, by: "bytes" };
    kept.push(line);
    used += size;
  }
  return { kept, by: "lines" };
}

/** The beginning. */
export function truncateHead(content, options = {}) {
  const { lines, whole, fits } = record(content, options);
  if (fits) return whole;
  if (bytesOf(lines[0]) > whole.maxBytes) return part(whole, [], "bytes", { outputLines: 0, firstLineExceedsLimit: true });
  const { kept, by } = take(lines, whole);
  return part(whole, kept, by);
}

/** The end; a last line that is too long by itself is cut at its front. */
export function truncateTail(content, options = {}) {
  const { lines, whole, fits } = record(content, options);
  if (fits) return whole;
  const { kept, by } = take(lines.toReversed(), whole);
  if (kept.length > 0) return part(whole, kept.reverse(), by);
  const bytes = host.utf8Encode(lines.at(-1));
  let start = Math.max(0, bytes.length - whole.maxBytes);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start++;
  return part(whole, [host.utf8Decode(bytes.subarray(start), false)], "bytes", { lastLinePartial: true });
}

export function truncateLine(line, most = GREP_MAX_LINE_LENGTH) {
  return line.length <= most ? { text: line, wasTruncated: false } : { text: `${line.slice(0, most)}... [truncated]`, wasTruncated: true };
}

/** The last lines as they are seen at a width. */
export function truncateToVisualLines(text, most, width, paddingX = 0) {
  if (!text) return { visualLines: [], skippedCount: 0 };
  const { Text } = host.load("pi:shim/pi/tui/parts");
  const lines = new Text(text, paddingX, 0).render(width);
  return lines.length <= most ? { visualLines: lines, skippedCount: 0 } : { visualLines: lines.slice(-most), skippedCount: lines.length - most };
}
