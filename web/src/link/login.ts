/** The way in: a ticket from the address is exchanged for a cookie, and is gone from the address before anything else happens. */

export interface Refusal {
  error: string;
  hint: string;
  /** Which it is, for programs. */
  code: string | undefined;
}

export function ticketIn(hash: string): string | undefined {
  const found = /[#&]ticket=([^&]+)/.exec(hash)?.[1];
  return found === undefined ? undefined : decodeURIComponent(found);
}

/** Logs in. The refusal is the server's. */
export async function login(ticket: string): Promise<Refusal | undefined> {
  const answer = await fetch("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
  });
  // Whoever opens an old address again may well be logged in.
  return answer.ok || (await isKnown()) ? undefined : refusal(answer);
}

/** What the server says of itself to those whom it knows: that it is ready, or that it is not. */
const KNOWN = [200, 503];

/** Whether the server knows this browser. */
export async function isKnown(): Promise<boolean> {
  return KNOWN.includes((await fetch("/readyz")).status);
}

async function refusal(answer: Response): Promise<Refusal> {
  const told: unknown = await answer.json().catch(() => undefined);
  const { error, hint, code } = (told ?? {}) as Partial<Refusal>;
  return { error: error ?? `HTTP ${answer.status}`, hint: hint ?? "", code };
}
