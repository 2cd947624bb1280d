// node:stream/web: the streams of the web.
import * as streams from "pi:shim/web/streams";
export * from "pi:shim/web/streams";
export default { ...streams };
