/**
 * A queue that keeps increments while the server cannot be reached.
 *
 * @packageDocumentation
 */
export { IndexedDBStore } from "./indexeddb.js";
export { OfflineQueue, type QueueOptions, type Sender } from "./queue.js";
export type { Queued, QueuedIncrement, QueueStore } from "./store.js";
