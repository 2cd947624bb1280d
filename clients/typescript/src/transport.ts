/** One way to a server, as long as it holds. */
export interface Transport {
  send(frame: string): void;
  close(): void;
  /** How many bytes have come so far: a frame that takes long shows that somebody is there. Browsers do not tell. */
  received?(): number;
}

export interface TransportListener {
  frame(text: string): void;
  /** The server is there, although it says nothing. Browsers do not tell. */
  alive?(): void;
  /** Once, whatever happened, unless `refused` was called. `code` is that of a WebSocket. */
  closed(reason: string, code?: number): void;
  /** The server answered, and not with a connection. Browsers do not say so; there it is `closed`. */
  refused(status: number, text: string): void;
}

/** Opens a way to the server. What goes wrong is told to the listener. */
export type TransportFactory = (listener: TransportListener) => Transport;

/** What a WebSocket must have of the standard's; those of browsers and of `ws` have it. */
interface Socket {
  binaryType: string;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: unknown;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: unknown) => void) | null;
  /** Only that of `ws`: what the server said instead of opening a socket. */
  on?(name: "unexpected-response", hear: (request: unknown, response: HttpAnswer) => void): void;
  on?(name: "ping", hear: () => void): void;
  on?(name: "upgrade", hear: (answer: { socket: { bytesRead: number } }) => void): void;
}

/** As much of Node's answer as is needed, so that browsers need no types of Node. */
interface HttpAnswer {
  statusCode?: number;
  setEncoding(encoding: "utf8"): void;
  on(name: "data", hear: (text: string) => void): void;
  on(name: "end" | "error", hear: () => void): void;
}

export type SocketConstructor = new (url: string, protocols?: string[], options?: { headers: Record<string, string> }) => Socket;

/**
 * A WebSocket. Browsers send their cookie by themselves; a token needs a socket that can send headers, such as the one in
 * `pi-client/node`.
 */
export function webSocket(url: string, options: { socket?: SocketConstructor; token?: string } = {}): TransportFactory {
  const make = options.socket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  if (make === undefined) {
    throw new Error("there is no WebSocket here; use connect from pi-client/node");
  }
  return (listener) => {
    const socket =
      options.token === undefined
        ? new make(url)
        : new make(url, [], { headers: { authorization: `Bearer ${options.token}` } });
    let failure = "";
    let isRefused = false;
    socket.on?.("unexpected-response", (_, answer) => {
      isRefused = true;
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (more) => (text += more));
      const end = () => {
        listener.refused(answer.statusCode ?? 0, text.trim() || "the server refused the connection");
        socket.close();
      };
      answer.on("end", end);
      answer.on("error", end);
    });
    // The connection below the socket. Its bytes are counted and not listened to: that would be in the way of the socket.
    let below: { bytesRead: number } | undefined;
    socket.on?.("upgrade", (answer) => (below = answer.socket));
    socket.on?.("ping", () => listener.alive?.());
    socket.onmessage = (event) => {
      if (typeof event.data === "string") {
        listener.frame(event.data);
      }
    };
    socket.onerror = (event) => {
      const message = (event as { message?: unknown }).message;
      failure = typeof message === "string" ? message : "the connection failed";
    };
    socket.onclose = (event) => {
      if (!isRefused) {
        listener.closed(event.reason || failure || `closed with ${event.code}`, event.code);
      }
    };
    return {
      send: (frame) => socket.send(frame),
      close: () => socket.close(1000, "client closed"),
      ...(socket.on === undefined ? {} : { received: () => below?.bytesRead ?? 0 }),
    };
  };
}
