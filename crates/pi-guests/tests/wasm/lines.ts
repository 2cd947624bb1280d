import fs from "pi:extension/fs@1.0.0";
import log from "pi:extension/log@1.0.0";

import { count } from "./count.ts";

// An extension in TypeScript, as a component: a tool that counts the lines of a file, and one that looks around.
const tool = (name: string) => ({ name, description: "A tool", parameters: '{"type":"object"}' });
const said = (text: string) => ({ output: { content: [{ tag: "text", val: text }] }, isError: false });

export const guest = {
  init: () => ({ name: "lines", version: "0.1.0", apiVersion: "1.0", tools: ["lines", "clock", "fail"].map(tool) }),
  callTool({ name, input }: { name: string; input: string }) {
    if (name === "fail") throw { code: "sad", message: "not today" };
    if (name === "clock") {
      const isLate = Date.now() > Date.UTC(2025, 0);
      return said(`${isLate ? "late" : "early"} and ${Math.random() === Math.random() ? "fixed" : "random"}`);
    }
    const { path } = JSON.parse(input);
    log.write("info", "lines.counted", path, undefined);
    return said(`${count(fs.read(path, undefined, undefined))} lines`);
  },
  runCommand: () => ({ output: "{}", isError: false }),
  handleEvent: () => ({ tag: "notice" }),
  shutdown() {},
};
