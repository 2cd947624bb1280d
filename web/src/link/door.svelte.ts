/**
 * The way in, also for a page that is open already: an address with a ticket that is opened where the page is changes only what
 * stands after `#`, and nothing is loaded anew.
 */
import { formatRoute } from "../route";
import { router } from "../router.svelte";
import { link } from "./link.svelte";
import { login, type Refusal, ticketIn } from "./login";

/** How long it is waited before a ticket is brought again to a server that did not answer: at first, and at most. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

class Door {
  /** Why the last ticket was not taken. */
  refusal = $state.raw<Refusal | undefined>();
  /** The one that is being brought. */
  private ticket: string | undefined;

  constructor() {
    addEventListener("hashchange", () => {
      if (ticketIn(location.hash) !== undefined) {
        void this.enter();
      }
    });
  }

  /** Takes the ticket of the address, if it has one, and leaves the reader where he was. */
  async enter(): Promise<void> {
    const ticket = ticketIn(location.hash);
    if (ticket === undefined) {
      return;
    }
    history.replaceState(null, "", `${location.pathname}${formatRoute(router.now)}`);
    this.ticket = ticket;
    if (!(await this.bring(ticket))) {
      void this.insist(ticket); // The page is shown meanwhile.
    }
  }

  /** Shows a ticket to the server. False if nobody answers: the ticket is as good as before then. */
  private async bring(ticket: string): Promise<boolean> {
    let refusal: Refusal | undefined;
    try {
      refusal = await login(ticket);
    } catch {
      return false;
    }
    if (ticket === this.ticket) {
      this.refusal = refusal;
    }
    if (refusal === undefined) {
      link.admit();
    }
    return true;
  }

  /** Brings a ticket until somebody has looked at it, or there is a newer one. It stands nowhere else any more. */
  private async insist(ticket: string): Promise<void> {
    let wait = FIRST_WAIT_MS;
    do {
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    } while (ticket === this.ticket && !(await this.bring(ticket)));
  }
}

export const door = new Door();
