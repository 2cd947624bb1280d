// What a request shows as its socket. The connection is the host's: this one tells of the request, waits as long as it is told
// to, and ends the request when it is destroyed. Nothing is read from it or written to it.
import host from "pi:host";
import { EventEmitter } from "pi:shim/node/events";

const unread = () => Object.assign(new Error("the socket of a request cannot be written to: an extension has no sockets"), { code: "ERR_NOT_AVAILABLE" });

export class RequestSocket extends EventEmitter {
  #request;
  #timer;
  constructor(request, isEncrypted) {
    super();
    this.#request = request;
    Object.assign(this, {
      connecting: false, pending: false, destroyed: false, readable: true, writable: true, readyState: "open", timeout: 0, bytesRead: 0, bytesWritten: 0,
      remoteAddress: undefined, remotePort: undefined, remoteFamily: undefined, localAddress: undefined, localPort: undefined,
    });
    if (isEncrypted) Object.assign(this, { encrypted: true, authorized: true, authorizationError: null });
  }
  setTimeout(ms, callback) {
    const { clearTimeout, setTimeout } = host.load("pi:shim/node/timers");
    clearTimeout(this.#timer);
    this.timeout = ms;
    if (callback) ms > 0 ? this.once("timeout", callback) : this.removeListener("timeout", callback);
    if (ms > 0 && !this.destroyed) this.#timer = setTimeout(() => this.emit("timeout"), ms).unref();
    return this;
  }
  /** Something went on: the time counts anew. */
  refresh() { if (this.timeout > 0) this.setTimeout(this.timeout); }
  destroy(problem) {
    this.#request.destroy(problem);
    return this;
  }
  destroySoon() { this.destroy(); }
  resetAndDestroy() { return this.destroy(); }
  /** The request is over. One that went well leaves its connection for the next, so nothing is closed. */
  over(isClosed) {
    host.load("pi:shim/node/timers").clearTimeout(this.#timer);
    this.timeout = 0;
    if (!isClosed || this.destroyed) return;
    Object.assign(this, { destroyed: true, readable: false, writable: false, readyState: "closed" });
    queueMicrotask(() => this.emit("close", false));
  }
  write() { throw unread(); }
  end() { return this; }
  address() { return {}; }
  getPeerCertificate() { return {}; }
  getSession() { return undefined; }
  isSessionReused() { return false; }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  setEncoding() { return this; }
  ref() { return this; }
  unref() { return this; }
  cork() {}
  uncork() {}
  pause() { return this; }
  resume() { return this; }
}
