import { ScoreboardError } from "../error.js";
import type { Top } from "../types.js";
import type { Transport } from "../transport.js";
import { jitter, sleep } from "../wait.js";
import { Latest } from "./latest.js";
import { followEvents } from "./sse.js";
import { apiRoutes } from "./stream.js";
import { BoardState, type Connection, type Message, type State, type WatchOptions } from "./state.js";
import { followSocket } from "./ws.js";

const POLL_MIN = 1_000;
const POLL_MAX = 3_000;
const POLL_FOR = 5_000; // before streams are tried again, at first
const POLL_FOR_MAX = 60_000;
const MAX_RECONNECT_AFTER = 30_000;

/** watch follows a board until the reader leaves or the signal aborts. Nothing runs before the first read. */
export async function* watch(
  transport: Transport, query: WatchOptions, signal?: AbortSignal,
): AsyncGenerator<State, void, undefined> {
  const left = new AbortController();
  const leave = () => left.abort(signal?.reason);
  if (signal?.aborted) return;
  signal?.addEventListener("abort", leave, { once: true });
  const watcher = new Watcher(transport, query);
  const running = watcher.run(left.signal);
  try {
    yield* watcher.states.read();
  } finally {
    leave();
    signal?.removeEventListener("abort", leave);
    await running;
  }
}

/** Watcher is one watch. */
export class Watcher {
  readonly states = new Latest<State>();
  readonly board: BoardState;
  /** Whether the current stream has sent anything. */
  received = false;
  #connected = false; // ever
  #streamError: unknown;
  #reconnectAfter?: number; // set by what ends a stream
  #resyncedAt = -Infinity;

  constructor(
    readonly transport: Transport, readonly query: WatchOptions, readonly routes = apiRoutes(query.board),
  ) {
    this.board = new BoardState(query.board || "global");
  }

  /** run ends with the signal, or when a poll, the last resort, is rejected. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#follow(signal);
    } catch (error) {
      this.states.end(signal.aborted ? undefined : error);
    }
  }

  async #follow(signal: AbortSignal): Promise<never> {
    let pollFor = POLL_FOR;
    for (let failures = 0; ; failures++) {
      await this.#live(signal);
      signal.throwIfAborted();
      // Polling works and continues shortly.
      if (this.board.state.connection !== "polling") this.#disconnected(this.#streamError);
      const { received } = this;
      if (received) {
        failures = 0;
        pollFor = POLL_FOR;
      }
      const wait = this.#reconnectAfter ?? jitter(failures);
      this.#reconnectAfter = undefined;
      await sleep(wait, signal);
      if (received) continue;
      await this.#poll(signal, pollFor);
      pollFor = Math.min(2 * pollFor, POLL_FOR_MAX);
    }
  }

  /** Follows the stream by WebSocket, else by server-sent events, until it breaks. */
  async #live(signal: AbortSignal): Promise<void> {
    this.received = false;
    this.#streamError = undefined;
    for (const follow of [followSocket, followEvents]) {
      if (this.received || signal.aborted) return;
      if (follow === followSocket && !this.transport.settings.webSocket) continue;
      await follow(this, signal).catch((error: unknown) => (this.#streamError ??= error));
    }
  }

  /** frame handles a message of a stream. It throws if the message ends the stream. */
  frame(kind: Connection, f: Message): void {
    switch (f.type) {
      case "leaderboard.updated":
        this.#heard(kind);
        this.board.snapshot(f.epoch ?? 0, f.version ?? 0, {
          board: f.board ?? "", top: f.top ?? [], updatedAt: f.ts ?? "", degraded: degradedReason(f),
        });
        break;
      case "leaderboard.delta":
        this.#heard(kind);
        if (!this.board.delta(f)) this.#resync();
        break;
      case "user.rank.updated":
        this.#heard(kind);
        this.board.move(f);
        break;
      case "user.tier.updated":
        this.#heard(kind);
        this.board.tier(f);
        break;
      case "error": // about the stream itself, because commands of this client are valid
        throw new ScoreboardError({
          code: f.errorCode ?? "", status: statusOf(f.errorCode), message: f.message ?? "",
        });
      case "bye":
        // Wait at least a moment, even if the server did not ask for a delay.
        this.#reconnectAfter = Math.min(Math.max(f.reconnectAfterMs ?? 0, 200), MAX_RECONNECT_AFTER);
        throw new Error(`the server is closing the connection: ${f.reason ?? ""}`);
      default: // of a newer protocol
        this.received = true;
        return;
    }
    this.received = true;
    this.states.put(this.board.state);
  }

  /** heartbeat handles a message other than a frame: the state is still current. */
  heartbeat(kind: Connection): void {
    this.received = true;
    this.#heard(kind);
    this.board.confirm();
    this.states.put(this.board.state);
  }

  /** Connects again at once; not if that was done just before, for it would not help. */
  #resync(): never {
    if (Date.now() - this.#resyncedAt > POLL_FOR) this.#reconnectAfter = 0;
    this.#resyncedAt = Date.now();
    this.received = true;
    throw new Error("a delta for rows other than those received");
  }

  /** Polls for about duration, while streams do not work; less if the server is back after an outage. */
  async #poll(signal: AbortSignal, duration: number): Promise<void> {
    const end = Date.now() + duration;
    for (let failures = 0; ; ) {
      let wait = POLL_MIN + Math.random() * (POLL_MAX - POLL_MIN);
      try {
        await this.#pollOnce(signal);
        if (failures > 0) return; // streams may work again, too
      } catch (error) {
        const e = error as ScoreboardError;
        if (signal.aborted || /^40[134]$/.test(String(e.status))) throw e; // it is pointless to go on
        this.#disconnected(e);
        wait = Math.max(jitter(failures++, POLL_MIN, POLL_MAX), e.retryAfter);
      }
      if (failures === 0 && Date.now() + wait > end) return;
      await sleep(wait, signal);
    }
  }

  async #pollOnce(signal: AbortSignal): Promise<void> {
    const { top: path, query } = this.routes;
    const top = await this.transport.try<Top>(
      { method: "GET", path, query: { ...query, limit: this.query.limit } }, signal,
    );
    this.#heard("polling");
    const rows = {
      board: top.board, top: top.entries, updatedAt: top.updatedAt, degraded: degradedReason(top),
    };
    // A degraded response has no version.
    if (top.epoch === null || top.version === null) this.board.show(rows);
    else this.board.snapshot(top.epoch, top.version, rows);
    this.states.put(this.board.state);
  }

  #heard(kind: Connection): void {
    const { state } = this.board;
    const back = state.connection === "disconnected" && this.#connected;
    this.#connected = true;
    this.board.state = {
      ...state, connection: kind, heardAt: new Date(), reconnects: state.reconnects + Number(back),
      error: kind === "polling" ? this.#streamError : undefined,
    };
  }

  #disconnected(error: unknown): void {
    this.board.state = { ...this.board.state, connection: "disconnected", error };
    this.states.put(this.board.state);
  }
}

/** Why rows are not from a healthy ranking, or may lack changes; "" if neither. */
function degradedReason(f: { degraded?: boolean; degradedReason?: string; boardState?: string }): string {
  if (f.degradedReason) return f.degradedReason;
  if (f.degraded) return "unknown";
  return f.boardState && f.boardState !== "HEALTHY" ? f.boardState.toLowerCase() : "";
}

const statuses: Record<string, number> = {
  unauthorized: 401, token_used: 401, forbidden: 403, not_found: 404, rate_limited: 429,
  unavailable: 503, overloaded: 503,
};

/** The HTTP status of a code that arrived without one. */
function statusOf(code = ""): number {
  return statuses[code] ?? 400;
}
