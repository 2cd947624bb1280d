// node:v8. The engine is not V8.
export const getHeapStatistics = () => ({ total_heap_size: 0, used_heap_size: 0, heap_size_limit: 0, total_available_size: 0, malloced_memory: 0 });
export const setFlagsFromString = () => {};
export default { getHeapStatistics, setFlagsFromString, [Symbol.for("pi.remedy")]: "the engine is not V8: use JSON or structuredClone" };
