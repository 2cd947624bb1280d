// node:worker_threads. A guest has one thread.
export const isMainThread = true;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export const resourceLimits = {};
export default { isMainThread, parentPort, workerData, threadId, resourceLimits, [Symbol.for("pi.remedy")]: "do the work in the extension itself, or start a program" };
