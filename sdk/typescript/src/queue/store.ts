import type { Increment } from "../types.js";

/** QueuedIncrement is an increment with its event id, and never with a signature or a key. */
export type QueuedIncrement = Increment & { eventId: string };

/** Queued is an increment in a store. Keys rise in the order of the queue. */
export interface Queued {
  key: number;
  increment: QueuedIncrement;
  /** When it was first sent, in milliseconds of Unix time; absent before. */
  firstSent?: number | undefined;
}

/** QueueStore keeps the increments of a queue. */
export interface QueueStore {
  /**
   * put stores an increment durably at the end, and returns it. If the user's event id is in the
   * queue already, it returns the increment that is there. It returns undefined if the queue has
   * max increments.
   */
  put(increment: QueuedIncrement, max: number): Promise<QueuedIncrement | undefined>;
  /** first returns up to limit increments from the front, in order. */
  first(limit: number): Promise<Queued[]>;
  /** sending notes durably, before increments are sent for the first time, when that is. */
  sending(keys: number[], at: number): Promise<void>;
  /** remove deletes increments. If that is lost in a crash, they are sent again and count once. */
  remove(keys: number[]): Promise<void>;
  size(): Promise<number>;
  /** exclusively runs work while no other process or page sends the increments of the store. */
  exclusively(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
