// node:worker_threads. A guest has one thread.
export const isMainThread = true;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export const resourceLimits = {};
/** There is no other thread to which anything could be sent. */
export const markAsUncloneable = () => {};
export const markAsUntransferable = () => {};
export const isMarkedAsUntransferable = () => false;
export default { isMainThread, parentPort, workerData, threadId, resourceLimits, markAsUncloneable, markAsUntransferable, isMarkedAsUntransferable, [Symbol.for("pi.remedy")]: "do the work in the extension itself, or start a program" };
