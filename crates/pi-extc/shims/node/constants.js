// node:constants. The numbers of the system.
import fs from "pi:shim/node/fs/constants";
import { constants } from "pi:shim/node/os";

export default { ...constants.errno, ...constants.signals, ...fs };
