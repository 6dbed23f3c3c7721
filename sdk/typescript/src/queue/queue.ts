import { ScoreboardError, wrap } from "../error.js";
import { newEventId } from "../event_id.js";
import { attributesOf } from "../increment.js";
import type { CallOptions, Increment, Result } from "../types.js";
import { jitter, sleep } from "../wait.js";
import type { Queued, QueuedIncrement, QueueStore } from "./store.js";

/**
 * Sender sends increments: a Scoreboard on a server, which signs each when it is sent; in a page,
 * a function that posts to your own backend.
 */
export interface Sender {
  submit(increment: QueuedIncrement, options: CallOptions): Promise<unknown>;
  submitBatch?(increments: QueuedIncrement[], options: CallOptions): Promise<Result[]>;
}

/** QueueOptions configure a queue. */
export interface QueueOptions {
  store: QueueStore;
  sender: Sender;
  /** Increments sent in one request, up to 500; 1 by default. More than 1 needs submitBatch. */
  batch?: number;
  /** Maximum number of increments that wait; 10,000 by default. */
  max?: number;
  /** Called for each increment that was counted and deleted, with what the sender returned. */
  onSent?: (increment: QueuedIncrement, receipt: unknown) => void;
  /**
   * Called for each increment that will never be counted, such as one beyond the board's limits.
   * It is deleted afterwards. Without this function, run fails and the increment stays.
   */
  onRejected?: (increment: QueuedIncrement, error: ScoreboardError) => void | Promise<void>;
  /** Called for each failure after which the queue waits and tries again. */
  onWaiting?: (error: ScoreboardError) => void;
}

/** The maximum time between two tries, in milliseconds. */
const MAX_WAIT = 30_000;

/**
 * The server recognises a repeat for at least 25 days (ledger.window). What was first sent longer ago, or
 * at a time that the clock now calls the future, might count twice. In milliseconds.
 */
const MAX_AGE = 25 * 24 * 3600_000;
const MAX_CLOCK_STEP = 3600_000;

/** The maximum size of an increment in the queue, in characters: that of a request. */
const MAX_INCREMENT = 4096;

/**
 * OfflineQueue keeps increments while the server cannot be reached, and sends them in order. An
 * increment is deleted only after it was counted or rejected, and each has an event id, so
 * that it counts once even if it is sent again after a crash. In a batch, an increment that the
 * server rejects for the moment is sent again after those behind it.
 */
export class OfflineQueue {
  readonly #options: QueueOptions;
  #wake: () => void = () => {};

  constructor(options: QueueOptions) {
    const { batch = 1 } = options;
    if (!(batch >= 1 && batch <= 500)) throw new RangeError("batch must be between 1 and 500");
    if (batch > 1 && !options.sender.submitBatch) throw new TypeError("a batch requires a sender with submitBatch");
    this.#options = options;
  }

  /** add stores an increment and returns its event id. An event id that already waits is kept once. */
  async add(increment: Increment): Promise<string> {
    const { store, max = 10_000 } = this.#options;
    const added = unsigned(increment);
    const { eventId } = added;
    const text = JSON.stringify(added);
    if (text.length > MAX_INCREMENT) {
      throw new ScoreboardError({ code: "payload_too_large", message: "the increment is over 4 KiB", eventId });
    }
    const kept = await store.put(added, max);
    if (!kept) {
      throw new ScoreboardError({ code: "overloaded", message: `the queue is full: ${max} increments wait`, eventId });
    }
    if (JSON.stringify(unsigned(kept)) !== text) {
      const message = "the event id waits in the queue with another increment";
      throw new ScoreboardError({ code: "event_conflict", message, eventId });
    }
    this.#wake();
    return eventId;
  }

  /** size returns the number of increments that wait. */
  size(): Promise<number> {
    return this.#options.store.size();
  }

  /** run sends what waits and what is added, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.store.exclusively(() => this.#send(signal), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #send(signal: AbortSignal): Promise<never> {
    const { store, batch = 1, onWaiting } = this.#options;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      const added = new Promise<void>((resolve) => (this.#wake = resolve));
      const queued = fitting(await store.first(batch));
      if (queued.length === 0) {
        await added;
        continue;
      }
      const error = await this.#sendSome(queued, signal);
      if (!error) {
        failures = 0;
        continue;
      }
      signal.throwIfAborted();
      onWaiting?.(error);
      await pause(Math.max(error.retryAfter, jitter(failures++, 200, MAX_WAIT)), signal);
    }
  }

  /** Sends increments and returns the error after which to wait, if any. */
  async #sendSome(queued: Queued[], signal: AbortSignal): Promise<ScoreboardError | undefined> {
    const { store, onSent, onRejected } = this.#options;
    const now = Date.now();
    const old = queued.filter((q) => mayCountTwice(q, now));
    const young = queued.filter((q) => !old.includes(q));
    const unsent = young.filter((q) => q.firstSent === undefined).map((q) => q.key);
    if (unsent.length > 0) await store.sending(unsent, now);
    const results: Outcome[] = young.length > 0 ? await this.#submit(young, signal) : [];
    const tried = [...young.slice(0, results.length), ...old];
    results.push(...old.map(({ increment }) => ({ error: tooOld(increment) })));
    const settled: number[] = [];
    let later: ScoreboardError | undefined;
    let fatal: ScoreboardError | undefined;
    for (const [n, { error }] of results.entries()) {
      const { key, increment } = tried[n]!;
      if (!error) {
        settled.push(key);
      } else if (waits(error)) {
        later ??= error;
      } else if (onRejected) {
        await onRejected(increment, error);
        settled.push(key);
      } else {
        fatal ??= error;
      }
    }
    if (settled.length > 0) await store.remove(settled);
    results.forEach(({ receipt, error }, n) => error || onSent?.(tried[n]!.increment, receipt));
    if (fatal) throw fatal;
    return later;
  }

  async #submit(queued: Queued[], signal: AbortSignal): Promise<Outcome[]> {
    const { sender, batch = 1 } = this.#options;
    const increments = queued.map((q) => q.increment);
    if (batch === 1) return [await sender.submit(increments[0]!, { signal }).then(sent, failed)];
    try {
      return [...(await sender.submitBatch!(increments, { signal }))];
    } catch (error) {
      const { error: e } = failed(error);
      // The batch as a whole was rejected, so none of its increments was processed.
      if (waits(e)) return [{ error: e }];
      throw e;
    }
  }
}

/** The maximum size of a batch in the queue, in characters. The server takes 1 MiB. */
const MAX_BATCH_SIZE = 512 << 10;

/** fitting is the front of a batch that fits into one request. */
function fitting(queued: Queued[]): Queued[] {
  let size = 0;
  const end = queued.findIndex(({ increment }) => (size += JSON.stringify(increment).length) > MAX_BATCH_SIZE);
  return end < 0 ? queued : queued.slice(0, end);
}

interface Outcome {
  receipt?: unknown;
  error?: ScoreboardError | undefined;
}

const sent = (receipt: unknown): Outcome => ({ receipt });
const failed = (error: unknown): { receipt?: undefined; error: ScoreboardError } => ({ error: wrap("send an increment", error) });

/** Whether the server may have counted an increment, and forgotten that it did. */
function mayCountTwice({ firstSent }: Queued, now: number): boolean {
  return firstSent !== undefined && (now - firstSent > MAX_AGE || firstSent - now > MAX_CLOCK_STEP);
}

function tooOld({ eventId }: QueuedIncrement): ScoreboardError {
  const message = "first sent so long ago that the server might count it again";
  return new ScoreboardError({ code: "gone", message, eventId });
}

/** Whether an increment may be counted later, also with another token or key. */
function waits(error: ScoreboardError): boolean {
  return error.temporary || error.code === "unauthorized" || error.code === "invalid_signature";
}

/** unsigned is an increment with the fields that are kept, in a fixed order. */
function unsigned(i: Increment): QueuedIncrement {
  return {
    userId: i.userId, delta: i.delta, eventId: i.eventId || newEventId(), board: i.board, action: i.action,
    actionToken: i.actionToken, attestation: i.attestation, attributes: attributesOf(i),
    ifPeriod: i.ifPeriod, metadata: i.metadata, subscore: i.subscore,
  };
}

/** pause waits, until the browser is online again at most. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const host = globalThis as Partial<Pick<typeof globalThis, "addEventListener" | "removeEventListener">>;
  const woken = new AbortController();
  const wake = () => woken.abort();
  host.addEventListener?.("online", wake);
  signal.addEventListener("abort", wake, { once: true });
  try {
    await sleep(ms, woken.signal);
  } catch {
    signal.throwIfAborted();
  } finally {
    host.removeEventListener?.("online", wake);
    signal.removeEventListener("abort", wake);
  }
}
