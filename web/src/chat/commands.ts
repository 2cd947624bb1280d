/** Commands that the page does itself; all others are the server's. */
export const PAGE_COMMANDS = ["new", "model", "thinking", "name", "fork", "tree", "envelope", "compact", "export", "extensions", "stop", "close", "help"] as const;

export type PageCommand = (typeof PAGE_COMMANDS)[number];
