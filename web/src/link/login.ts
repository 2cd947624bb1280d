/** The way in: a ticket from the address is exchanged for a cookie, and is gone from the address before anything else happens. */

export interface Refusal {
  error: string;
  hint: string;
}

/** Logs in if the address has a ticket. The refusal is the server's. */
export async function login(): Promise<Refusal | undefined> {
  const found = /[#&]ticket=([^&]+)/.exec(location.hash);
  if (found === null) {
    return undefined;
  }
  history.replaceState(null, "", `${location.pathname}#/`);
  const answer = await fetch("/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket: decodeURIComponent(found[1] as string) }),
  });
  // Whoever opens an old address again may well be logged in.
  return answer.ok || (await isKnown()) ? undefined : refusal(answer);
}

/** Whether the server knows this browser. */
export async function isKnown(): Promise<boolean> {
  return (await fetch("/readyz")).status !== 401;
}

async function refusal(answer: Response): Promise<Refusal> {
  const told: unknown = await answer.json().catch(() => undefined);
  const { error, hint } = (told ?? {}) as Partial<Refusal>;
  return { error: error ?? `HTTP ${answer.status}`, hint: hint ?? "" };
}
