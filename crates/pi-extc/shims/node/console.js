// node:console. The console of the web under its Node name.
import console, { Console } from "pi:shim/web/console";

export { Console };
export default console;
