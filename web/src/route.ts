/**
 * Where the reader is, as the part of the address after `#`.
 *
 * `#/` the sessions, `#/s/<session>` one of them, `#/s/<session>/m/<message>` a message in it, and with `/seg/<id>` a segment of what
 * the model saw; `/r/<request>` before it names the call of the model. `#/s/<session>/<view>` is another view of the session, `#/view` the viewer of files. A ticket never gets here: it
 * is exchanged for a cookie and removed from the address before anything is drawn.
 */

export type SessionView = "chat" | "tree" | "changes" | "envelope" | "diff" | "treemap";

export type Route =
  | { page: "home" }
  | { page: "viewer"; request?: string; message?: string; segment?: string }
  | { page: "session"; session: string; view: SessionView; request?: string; message?: string; segment?: string };

const VIEWS: readonly SessionView[] = ["chat", "tree", "changes", "envelope", "diff", "treemap"];

export function parseRoute(hash: string): Route {
  const [path = ""] = hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "").map(decode);
  if (parts[0] === "view") {
    return { page: "viewer", ...place(parts.slice(1)) };
  }
  const session = parts[1];
  if (parts[0] !== "s" || session === undefined) {
    return { page: "home" };
  }
  const rest = parts.slice(2);
  const named = VIEWS.find((view) => view === rest[0]);
  return { page: "session", session, view: named ?? "chat", ...place(named === undefined ? rest : rest.slice(1)) };
}

export function formatRoute(route: Route): string {
  switch (route.page) {
    case "home":
      return "#/";
    case "viewer":
      return `#/view${formatPlace(route)}`;
    case "session": {
      const view = route.view === "chat" ? "" : `/${route.view}`;
      return `#/s/${encodeURIComponent(route.session)}${view}${formatPlace(route)}`;
    }
  }
}

interface Place {
  /** A call of a model. */
  request?: string;
  message?: string;
  segment?: string;
}

/** The call, the message and the segment that a route names, as far as it does. */
export function placeOf({ request, message, segment }: Place): Place {
  return {
    ...(request === undefined ? {} : { request }),
    ...(message === undefined ? {} : { message }),
    ...(segment === undefined ? {} : { segment }),
  };
}

function place(parts: string[]): Place {
  const found: Place = {};
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const value = parts[at + 1] as string;
    if (parts[at] === "r") {
      found.request = value;
    } else if (parts[at] === "m") {
      found.message = value;
    } else if (parts[at] === "seg") {
      found.segment = value;
    }
  }
  return found;
}

function formatPlace(place: Place): string {
  const request = place.request === undefined ? "" : `/r/${encodeURIComponent(place.request)}`;
  const message = place.message === undefined ? "" : `/m/${encodeURIComponent(place.message)}`;
  return request + message + (place.segment === undefined ? "" : `/seg/${encodeURIComponent(place.segment)}`);
}

/** A part that is badly encoded stands for itself. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
