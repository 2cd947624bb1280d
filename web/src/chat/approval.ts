/**
 * Answers to a question of the host, so that they can be shown in the reader's words. The server asks every client the same English
 * question and takes one of its options for an answer; only what is shown is another text.
 */
import type { TextKey } from "../texts";

const OPTIONS: readonly { option: RegExp; text: TextKey }[] = [
  { option: /^Yes, this once$/, text: "approval.once" },
  { option: /^Yes, for this session$/, text: "approval.session" },
  { option: /^Yes, \w+ for this session$/, text: "approval.all" },
  { option: /^Yes, \w+ for 30 days$/, text: "approval.lasting" },
  { option: /^Yes$/, text: "question.yes" },
  { option: /^No$/, text: "question.no" },
  { option: /^No, not in this session$/, text: "approval.not" },
  { option: /^Never$/, text: "approval.never" },
];

/** The text for an option; it says `{capability}`. One that is not known is shown as it is. */
export function optionText(option: string): TextKey | undefined {
  return OPTIONS.find((known) => known.option.test(option))?.text;
}

/** What is asked for, by the capability that it needs. */
const TITLES: Readonly<Record<string, TextKey>> = {
  read: "approval.title.read",
  write: "approval.title.write",
  exec: "approval.title.exec",
  http: "approval.title.http",
  tool: "approval.title.tool",
};

export function titleText(capability: string): TextKey {
  return (Object.hasOwn(TITLES, capability) ? TITLES[capability] : undefined) ?? "approval.title";
}

/** What a yes leads to that holds for longer than once, as far as a capability has bounds. */
const REACH: Readonly<Record<string, TextKey>> = {
  read: "approval.reach.files",
  write: "approval.reach.files",
  exec: "approval.reach.files",
  http: "approval.reach.hosts",
};

/** How far the answers reach that speak of a capability; nothing if none does, or if it has no bounds. */
export function reachText(capability: string, options: readonly string[]): TextKey | undefined {
  const isBroad = options.some((option) => ["approval.all", "approval.lasting"].includes(optionText(option) ?? ""));
  return isBroad && Object.hasOwn(REACH, capability) ? REACH[capability] : undefined;
}
