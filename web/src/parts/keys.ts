/** Keys as they are called on the keyboard that somebody has, and letters that are pressed with Alt. */

type Pressed = Pick<KeyboardEvent, "key" | "code" | "altKey" | "ctrlKey" | "metaKey" | "shiftKey">;

/** What a Mac writes with Option and the letters that the page uses; elsewhere the letter comes as itself. */
const WITH_OPTION = ["å", "∫", "µ", "ø", "®", "ß", "†", "Dead"];

/**
 * The letter that is pressed with Alt and nothing else. Many keyboards of Macs, and those of other scripts, write something else with it: then
 * it is told by its place. Whoever writes a letter of his language with it, as in Polish, writes it.
 */
export function letterWithAlt({ key, code, altKey, ctrlKey, metaKey, shiftKey }: Pressed, isWriting: boolean): string | undefined {
  if (!altKey || ctrlKey || metaKey || shiftKey) {
    return undefined;
  }
  if (/^[a-z]$/i.test(key)) {
    return key.toLowerCase();
  }
  const isOfLanguage = /^\p{Script=Latin}$/u.test(key) && !WITH_OPTION.includes(key);
  return isOfLanguage && isWriting ? undefined : /^Key([A-Z])$/.exec(code)?.[1]?.toLowerCase();
}

/** Whether what is pressed there is written. */
export function isWritten(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea"));
}

const isMac = typeof navigator !== "undefined" && /^(Mac|iPhone|iPad)/.test(navigator.platform);

/** Names of keys in a text as they stand on this keyboard: a Mac has others. */
export function shownKeys(text: string, onMac = isMac): string {
  return onMac ? text.replace(/\bAlt[ +]/g, "⌥\u2009").replace(/\bCtrl[ +]/g, "⌘\u2009") : text;
}

/** The same where no keyboard is: what is named in brackets is left out. */
export function withoutKeys(text: string): string {
  return text.replace(/ ?[(（]Alt [A-Z][)）]/g, "");
}
