/** The connection to the server, and what the page knows of it. */
import { type CommandName, type ConnectionState, newId, PiClient, PiError, type ServerEvent, type TransportFactory, type Usual, webSocket } from "pi-client";
import { t } from "../texts";
import { errorWords } from "./words";
import { isKnown } from "./login";

/** Who can be asked: the server over its connection, or somebody who reads files. */
export type Asks = Pick<PiClient, "request">;

export type LinkState = ConnectionState | { state: "shut"; reason: string };

class Link {
  state = $state.raw<LinkState>({ state: "connecting", attempt: 1 });
  /** Whether the server does not know this browser any more. */
  isLoggedOut = $state(false);
  /** Whether there is a connection, be it that events are caught up with. */
  readonly isUp = $derived(this.state.state === "live" || this.state.state === "replaying");
  /** Let in while an attempt was under way that did not know it yet. */
  private isAdmitted = false;
  serverVersion = $state("");
  /** What a session begins with if nobody says otherwise. */
  usual = $state.raw<Usual | undefined>();
  readonly client: PiClient;

  constructor() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.client = new PiClient((query) => watched(webSocket(`${scheme}://${location.host}/ws?${query}`)), {
      clientId: clientName(),
      // What other clients do to a session changes what is shown.
      lifecycle: "all",
      connectAttempts: Number.POSITIVE_INFINITY,
      firstWaitMs: 250,
      longestWaitMs: 5000,
    });
    this.client.onState((state) => {
      this.state = state;
      if (state.state === "live") {
        this.serverVersion = this.client.ready?.serverVersion ?? "";
        this.usual = this.client.ready?.usual;
        this.isLoggedOut = false;
        this.isAdmitted = false;
      }
      if (state.state === "offline" && this.isAdmitted) {
        this.isAdmitted = false;
        queueMicrotask(() => this.client.reconnectNow()); // When the client has decided how long it would wait.
      } else if (state.state === "offline") {
        void this.askWhetherKnown();
      }
    });
  }

  /** The server knows this browser from now on: nobody has to wait for the next attempt. */
  admit(): void {
    this.isLoggedOut = false;
    if (this.client.state.state === "offline") {
      this.client.reconnectNow();
    } else {
      this.isAdmitted = !this.isUp;
    }
  }

  async open(): Promise<void> {
    await this.client.connect().catch((error: unknown) => {
      this.state = { state: "shut", reason: error instanceof Error ? error.message : String(error) };
    });
  }

  onEvent(listener: (event: ServerEvent) => void): () => void {
    return this.client.onEvent(listener);
  }

  /** A browser is not told why a socket does not open; HTTP says it. */
  private async askWhetherKnown(): Promise<void> {
    try {
      const isLoggedOut = !(await isKnown());
      // An answer that was on its way says nothing of whoever has come in meanwhile.
      this.isLoggedOut = isLoggedOut && !this.isUp;
    } catch {
      // Nobody answers: that is what offline means.
    }
  }
}

/** How long nothing may be heard before the server is asked whether it is there, and how long it has to say so. */
const SILENCE_MS = 20_000;
/** The same where something was sent to it: it says at once that it has come. */
const UNANSWERED_MS = 4000;
const PATIENCE_MS = 10_000;
/** How often that is looked at. */
const GLANCE_MS = 1000;

/**
 * A way that is given up when it has gone silent. A browser does not tell a page about heartbeats, and a network that went away
 * without a word would look alive for minutes.
 */
function watched(open: TransportFactory): TransportFactory {
  return (listener) => {
    let heard = Date.now();
    /** When the first was sent of what nothing was heard after; nothing if all was. */
    let sent: number | undefined;
    /** When it was asked whether it is there; nothing if it has said so. */
    let asked: number | undefined;
    let isOver = false;
    const end = (tell: () => void) => {
      if (!isOver) {
        isOver = true;
        clearInterval(timer);
        removeEventListener("offline", lost);
        tell();
      }
    };
    const transport = open({
      frame(text) {
        heard = Date.now();
        [sent, asked] = [undefined, undefined];
        listener.frame(text);
      },
      closed: (reason, code) => end(() => listener.closed(reason, code)),
      refused: (status, text) => end(() => listener.refused(status, text)),
    });
    const lost = () => {
      end(() => listener.closed(t("link.silent")));
      transport.close();
    };
    const timer = setInterval(() => {
      const now = Date.now();
      if (asked !== undefined && now - asked > PATIENCE_MS) {
        lost();
      } else if (asked === undefined && (now - heard > SILENCE_MS || (sent !== undefined && now - sent > UNANSWERED_MS))) {
        asked = now;
        transport.send('{"type":"health_check"}');
      }
    }, GLANCE_MS);
    addEventListener("offline", lost);
    return {
      send(frame) {
        sent ??= Date.now();
        transport.send(frame);
      },
      close: () => transport.close(),
    };
  };
}

/** One identity per tab: ids of commands are kept apart, and survive a reload of the page. */
function clientName(): string {
  const fresh = `page-${newId()}`;
  try {
    const known = sessionStorage.getItem("pi.client") ?? fresh;
    sessionStorage.setItem("pi.client", known);
    return known;
  } catch {
    return fresh;
  }
}

export const link = new Link();

/** What went wrong, and what to do about it. */
export interface Trouble {
  text: string;
  hint: string;
}

export function trouble(error: unknown): Trouble {
  if (error instanceof PiError) {
    return errorWords(error.response);
  }
  return { text: error instanceof Error ? error.message : String(error), hint: "" };
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof PiError && error.code !== undefined && codes.includes(error.code);
}

export function stateText(state: LinkState): string {
  switch (state.state) {
    case "live":
      return t("link.live");
    case "replaying":
      return t("link.replaying", { count: state.events });
    case "connecting":
      return t("link.connecting");
    case "offline":
    case "closed":
    case "shut":
      return t("link.offline");
  }
}

/** Commands of anybody after which a session is not what it was. */
export const REWRITES: readonly CommandName[] = ["navigate_tree", "fork", "new_session", "switch_session_file", "compact"];
