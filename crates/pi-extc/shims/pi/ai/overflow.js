// Whether a provider said that a prompt was too long; each has its own words for it.

const PATTERNS = [
  /prompt (?:is )?too long/i, /request_too_large/i, /input is too long/i, /exceeds? the (?:model's )?(?:context window|available context size|maximum context|limit of \d+)/i, /input token count.*exceeds/i,
  /maximum (?:prompt|context) length is \d+/i, /reduce the length of the messages/i, /greater than the context length/i, /context window exceeds limit/i, /exceeded (?:model|max(?:imum)?) (?:token limit|context length)/i,
  /too large for model with \d+ maximum context length/i, /model_context_window_exceeded/i, /context[_ ]length[_ ]exceeded/i, /too many tokens/i, /token limit exceeded/i, /^4(?:00|13)\s*(?:status code)?\s*\(no body\)/i,
];
// A limit on speed is not a limit on length.
const OTHERS = [/rate limit/i, /too many requests/i, /throttl/i];

export const getOverflowPatterns = () => [...PATTERNS];

export function isContextOverflow(message, contextWindow) {
  if (message.stopReason === "error" && message.errorMessage) {
    if (OTHERS.some((pattern) => pattern.test(message.errorMessage))) return false;
    return PATTERNS.some((pattern) => pattern.test(message.errorMessage));
  }
  return !!contextWindow && message.stopReason === "stop" && message.usage !== undefined && message.usage.input + message.usage.cacheRead > contextWindow;
}
