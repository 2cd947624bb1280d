import fs from "pi:extension/fs@1.0.0";

// An extension in JavaScript, as a component: a tool that counts the lines of a file.
const tool = { name: "lines", description: "Counts the lines of a file", parameters: '{"type":"object"}' };

export const guest = {
  init: () => ({ name: "lines", version: "0.1.0", apiVersion: "1.0", tools: [tool] }),
  callTool({ input }) {
    const bytes = fs.read(JSON.parse(input).path, undefined, undefined);
    const count = Array.from(bytes).filter((byte) => byte === 10).length;
    return { output: { content: [{ tag: "text", val: `${count} lines` }] }, isError: false };
  },
  runCommand: () => ({ output: "{}", isError: false }),
  handleEvent: () => ({ tag: "notice" }),
  shutdown() {},
};
