// Records of an event stream: the data of each event, read as JSON.
import { TextDecoder } from "pi:shim/web/encoding";

/** Ends with the stream, or with `[DONE]`. */
export async function* records(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = done ? "" : lines.pop();
      if (done) lines.push("");
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        else if (line === "" && data.length > 0) {
          const text = data.join("\n");
          data = [];
          if (text === "[DONE]") return;
          yield JSON.parse(text);
        }
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
