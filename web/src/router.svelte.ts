/** The address as state: components read `route.now` and are drawn anew when it changes. */
import { ticketIn } from "./link/login";
import { formatRoute, parseRoute, type Route } from "./route";

class Router {
  now = $state.raw<Route>(parseRoute(location.hash));

  constructor() {
    addEventListener("hashchange", () => {
      // A ticket is no place: whoever opens one stays where he is.
      if (ticketIn(location.hash) === undefined) {
        this.now = parseRoute(location.hash);
      }
    });
  }

  go(route: Route): void {
    location.hash = formatRoute(route);
  }

  /** Changes the address without a new step in the history. */
  replace(route: Route): void {
    history.replaceState(null, "", formatRoute(route));
    this.now = route;
  }
}

export const router = new Router();
