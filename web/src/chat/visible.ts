/**
 * What a model wrote for a program to do, so that all of it is seen: as the server shows it to a person who decides
 * (`pi_policy::Target::as_written`), and in the same order in which it is run.
 */

/** What has no width, or turns the line around. */
const HIDDEN = /[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
/** Control characters but line breaks and tabs. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export function visible(text: string): string {
  return text
    .replace(CONTROL, (sign) => String.fromCharCode(sign === "\u007f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)))
    .replace(HIDDEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}
