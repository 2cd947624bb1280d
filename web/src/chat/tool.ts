/** What a call of a tool is called on its card: a verb and a target. */
import type { JsonValue } from "pi-client";
import type { IconName } from "../parts/Icon.svelte";
import { t } from "../texts";
import { visible } from "./visible";

export interface Title {
  icon: IconName;
  verb: string;
  target: string;
  /** Whether the end of the target is what tells. */
  isPath: boolean;
}

export function titleOf(name: string, args: Record<string, JsonValue>): Title {
  const { target, ...title } = asWritten(name, args);
  return { isPath: false, ...title, target: visible(target) };
}

function asWritten(name: string, args: Record<string, JsonValue>): Omit<Title, "isPath"> & { isPath?: true } {
  const text = (key: string) => (typeof args[key] === "string" ? args[key] : "");
  switch (name) {
    case "read":
      return { icon: "read", verb: t("tool.read"), target: text("path") + range(args), isPath: true };
    case "write":
      return { icon: "file", verb: t("tool.write"), target: text("path"), isPath: true };
    case "edit":
      return { icon: "write", verb: t("tool.edit"), target: text("path"), isPath: true };
    case "bash":
      return { icon: "shell", verb: t("tool.bash"), target: text("command") };
    case "grep":
      return { icon: "search", verb: t("tool.grep"), target: [text("pattern"), text("path")].filter(Boolean).join(" · ") };
    case "find":
      return { icon: "search", verb: t("tool.find"), target: [text("pattern"), text("path")].filter(Boolean).join(" · ") };
    case "ls":
      return { icon: "folder", verb: t("tool.ls"), target: text("path") === "" ? "." : text("path"), isPath: true };
    default:
      return { icon: "tool", verb: name === "" ? t("tool.other") : name, target: brief(args) };
  }
}

function range(args: Record<string, JsonValue>): string {
  const { offset, limit } = args;
  if (typeof offset !== "number" && typeof limit !== "number") {
    return "";
  }
  const from = typeof offset === "number" ? offset : 1;
  return typeof limit === "number" ? `:${from}–${from + limit - 1}` : `:${from}–`;
}

/** The arguments in one line. */
function brief(args: Record<string, JsonValue>): string {
  return Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
    .slice(0, 300);
}
