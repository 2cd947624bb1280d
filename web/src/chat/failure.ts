/** What may help when a model could not answer. That depends on what the provider did not like, which the host says in standard words. */
import type { TextKey } from "../texts";

/** The standard names of failures; every provider's own are told in these. */
const CODES = [
  "invalid_request",
  "authentication",
  "permission_denied",
  "not_found",
  "request_too_large",
  "rate_limited",
  "quota_exhausted",
  "server_error",
  "overloaded",
  "timeout",
  "conflict",
  "cancelled",
  "unknown",
] as const;

type Code = (typeof CODES)[number];

/** What else than asking again may be done at once. */
export type Remedy = "model" | "compact";

export interface Advice {
  text: TextKey;
  remedies: readonly Remedy[];
}

const GENERAL: Advice = { text: "answer.failed.next", remedies: ["model"] };
const KEY: Advice = { text: "answer.failed.next.key", remedies: ["model"] };
const ADDRESS: Advice = { text: "answer.failed.next.address", remedies: ["model"] };
const SLOW: Advice = { text: "answer.failed.next.timeout", remedies: ["model"] };

const BY_CODE: Record<Code, Advice> = {
  invalid_request: GENERAL,
  authentication: KEY,
  permission_denied: KEY,
  not_found: { text: "answer.failed.next.model", remedies: ["model"] },
  request_too_large: { text: "answer.failed.next.large", remedies: ["compact", "model"] },
  rate_limited: { text: "answer.failed.next.rate", remedies: ["model"] },
  quota_exhausted: { text: "answer.failed.next.quota", remedies: ["model"] },
  server_error: { text: "answer.failed.next.theirs", remedies: ["model"] },
  overloaded: { text: "answer.failed.next.theirs", remedies: ["model"] },
  timeout: SLOW,
  conflict: GENERAL,
  cancelled: GENERAL,
  unknown: GENERAL,
};

/** What the host says where no provider answered: its own words, at the beginning of the text. */
const UNANSWERED: readonly [RegExp, Advice][] = [
  [/^there is no credential for /, KEY],
  [/^nothing answers at /, ADDRESS],
  [/^\S+ cannot be (reached|asked from here)/, ADDRESS],
  [/^the server at \S+ answered with a web page/, ADDRESS],
  [/^\S+ sends the request elsewhere /, ADDRESS],
  [/^the address of \S+ needs /, ADDRESS],
  [/^\S+ did not answer in time /, SLOW],
];

/** A provider's words may hold anything: only the name that the host puts before them counts. */
const NAMED = new RegExp(`^(?:\\S+ answered: )?(?:\\d{3} )?(${CODES.join("|")}): `);

export function adviceFor(why: string): Advice {
  const code = NAMED.exec(why)?.[1];
  return code === undefined ? (UNANSWERED.find(([words]) => words.test(why))?.[1] ?? GENERAL) : BY_CODE[code as Code];
}
