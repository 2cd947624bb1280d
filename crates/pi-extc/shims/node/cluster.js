// node:cluster. There is one guest and one thread.
export const isMaster = true;
export const isPrimary = true;
export const isWorker = false;
export default { isMaster, isPrimary, isWorker, [Symbol.for("pi.remedy")]: "start a program instead" };
