/**
 * How long the provider of a session is left alone because it failed too often: nothing new is asked of it meanwhile, and what would only be
 * refused is not begun. Who asks for a model of another provider need not wait.
 */
import { PiError } from "pi-client";
import { hasCode, link } from "../link/link.svelte";

/** How often what is left is counted. */
const TICK_MS = 250;

export class Recess {
  private known = $state.raw<{ provider: string; until: number } | undefined>();
  private now = $state(0);
  private clock: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly provider: () => string | undefined) {}

  /** Seconds until it may be asked again; none if it may be. */
  readonly seconds: number | undefined = $derived.by(() => {
    const { known, now } = this;
    return known === undefined || known.provider !== this.provider() || now >= known.until ? undefined : Math.ceil((known.until - now) / 1000);
  });

  /** Asks the server. Whether the provider is left alone; if nobody says, it is found out by asking it. */
  async look(): Promise<boolean> {
    const provider = this.provider();
    const metrics = await link.client.request({ type: "get_metrics" }).catch(() => undefined);
    const wait = metrics?.data.circuitBreakers.find(({ providerName }) => providerName === provider)?.retryAfterMs;
    this.learn(provider, wait);
    return this.seconds !== undefined;
  }

  /** Something was refused: whether for that. */
  hear(error: unknown): void {
    if (error instanceof PiError && hasCode(error, "circuit_open") && error.response.retryAfterMs !== undefined) {
      this.learn(this.provider(), error.response.retryAfterMs);
    }
  }

  end(): void {
    clearInterval(this.clock);
    this.clock = undefined;
  }

  private learn(provider: string | undefined, wait: number | undefined): void {
    this.end();
    this.now = Date.now();
    this.known = provider === undefined || wait === undefined ? undefined : { provider, until: this.now + wait };
    if (this.known !== undefined) {
      this.clock = setInterval(() => this.tick(), TICK_MS);
    }
  }

  private tick(): void {
    this.now = Date.now();
    if (this.known === undefined || this.now >= this.known.until) {
      this.end();
    }
  }
}
