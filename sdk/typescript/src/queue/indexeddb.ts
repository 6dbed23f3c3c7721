import type { Queued, QueuedIncrement, QueueStore } from "./store.js";

const INCREMENTS = "increments";
const EVENT = "event";

/** Stored is an increment in the database. */
type Stored = QueuedIncrement & { firstSent?: number };

/** IndexedDBStore keeps a queue in the browser. Pages of one origin share a queue by its name. */
export class IndexedDBStore implements QueueStore {
  readonly #db: IDBDatabase;

  private constructor(db: IDBDatabase) {
    this.#db = db;
  }

  /** open opens the database, or creates it. */
  static async open(name = "scoreboard-queue"): Promise<IndexedDBStore> {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => {
      const increments = opening.result.createObjectStore(INCREMENTS, { autoIncrement: true });
      increments.createIndex(EVENT, ["userId", "eventId"], { unique: true });
    };
    return new IndexedDBStore(await result(opening));
  }

  async put(increment: QueuedIncrement, max: number): Promise<QueuedIncrement | undefined> {
    const { increments, committed } = this.#transaction("readwrite");
    const { userId, eventId } = increment;
    const known = (await result(increments.index(EVENT).get([userId, eventId]))) as QueuedIncrement | undefined;
    const full = (await result(increments.count())) >= max;
    if (!known && !full) increments.add(increment);
    await committed;
    return known ?? (full ? undefined : increment);
  }

  async first(limit: number): Promise<Queued[]> {
    const { increments } = this.#transaction("readonly");
    const [keys, values] = await Promise.all([
      result(increments.getAllKeys(null, limit)), result(increments.getAll(null, limit)),
    ]);
    return keys.map((key, n) => {
      const { firstSent, ...increment } = values[n] as Stored;
      return { key: key as number, increment, firstSent };
    });
  }

  async sending(keys: number[], at: number): Promise<void> {
    const { increments, committed } = this.#transaction("readwrite");
    for (const key of keys) {
      const stored = (await result(increments.get(key))) as Stored | undefined;
      if (stored) increments.put({ ...stored, firstSent: at }, key);
    }
    await committed;
  }

  async remove(keys: number[]): Promise<void> {
    const { increments, committed } = this.#transaction("readwrite");
    for (const key of keys) increments.delete(key);
    await committed;
  }

  size(): Promise<number> {
    return result(this.#transaction("readonly").increments.count());
  }

  async exclusively(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await navigator.locks.request(`scoreboard ${this.#db.name}`, { signal }, work);
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #transaction(mode: IDBTransactionMode): { increments: IDBObjectStore; committed: Promise<void> } {
    const transaction = this.#db.transaction(INCREMENTS, mode, { durability: "strict" });
    const committed = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
    });
    committed.catch(() => {}); // of a transaction for which nobody waits
    return { increments: transaction.objectStore(INCREMENTS), committed };
  }
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the request failed"));
  });
}
