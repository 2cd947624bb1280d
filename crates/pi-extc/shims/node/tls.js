// node:tls. Sockets are not for extensions. One can be made around a stream, which is how some find out about Node's classes while they
// load, and can be used for nothing.
import { fault } from "pi:shim/node/stream/base";
import { Duplex } from "pi:shim/node/stream/duplex";

const REMEDY = "an extension has no sockets: use fetch";
const refused = () => fault("ERR_NOT_AVAILABLE", `a socket with TLS is not available to an extension; ${REMEDY}`);

class JSStreamSocket extends Duplex {}

export class TLSSocket extends Duplex {
  constructor(stream, options) {
    super(options);
    this.encrypted = true;
    this.authorized = false;
    Object.defineProperty(this, "_handle", { value: { _parentWrap: new JSStreamSocket() } });
  }
  _read() { throw refused(); }
  _write(chunk, encoding, callback) { callback(refused()); }
  connect() { throw refused(); }
}

export default { TLSSocket, [Symbol.for("pi.remedy")]: REMEDY };
