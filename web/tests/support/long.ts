/** A session file as the server writes it, with many messages. */
import type { PiServer } from "./server";

const ID = "11111111-2222-7333-8444-555555555555";

function session(cwd: string, count: number): string {
  const start = Date.parse("2026-11-15T10:00:00.000Z");
  const at = (index: number) => new Date(start + index * 1000).toISOString();
  const lines: object[] = [{ type: "session", version: 3, id: ID, timestamp: at(0), cwd }];
  let parentId: string | null = null;
  const entry = (index: number, message: object) => {
    const entryId = index.toString(16).padStart(8, "0");
    lines.push({ type: "message", id: entryId, parentId, timestamp: at(index), message });
    parentId = entryId;
  };
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  for (let index = 1; index <= count; index += 1) {
    const timestamp = start + index * 1000;
    if (index % 2 === 1) {
      entry(index, { role: "user", content: `Question number ${index}`, timestamp });
    } else {
      const text = `Answer number ${index}\n\n${"Some words that fill a line. ".repeat(1 + (index % 9))}`;
      entry(index, { role: "assistant", content: [{ type: "text", text }], api: "openai-completions", provider: "local", model: "scripted", usage, stopReason: "stop", timestamp });
    }
  }
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

/** Where the server keeps the session of its project that has this name. */
export function sessionFile(server: PiServer, name: string): string {
  const cwd = `${server.folder}/project`;
  return `agent/sessions/--${cwd.replace(/^\//, "").replaceAll("/", "-")}--/${name}.jsonl`;
}

/** Stores a session with so many messages; the first is `Question number 1`. */
export async function storeLong(server: PiServer, count: number): Promise<void> {
  await server.write(sessionFile(server, `2026-11-15T10-00-00-000Z_${ID}`), session(`${server.folder}/project`, count));
}
