/**
 * The way in, also for a page that is open already: an address with a ticket that is opened where the page is changes only what
 * stands after `#`, and nothing is loaded anew.
 */
import { formatRoute } from "../route";
import { router } from "../router.svelte";
import { link } from "./link.svelte";
import { login, type Refusal, ticketIn } from "./login";

class Door {
  /** Why the last ticket was not taken. */
  refusal = $state.raw<Refusal | undefined>();

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
    try {
      this.refusal = await login(ticket);
    } catch {
      return; // Nobody answers; the state of the connection says so.
    }
    if (this.refusal === undefined) {
      link.client.reconnectNow();
    }
  }
}

export const door = new Door();
