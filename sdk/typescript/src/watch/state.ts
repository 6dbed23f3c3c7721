import type { Camel } from "../camel.js";
import type { components } from "../openapi.js";
import type { Entry } from "../types.js";

/** Connection is how the states of a watch arrive. */
export type Connection = "ws" | "sse" | "polling" | "disconnected";

/** WatchOptions select what a watch shows. */
export interface WatchOptions {
  /** global by default. */
  board?: string;
  /** 10 or 100 rows; the server's setting reads.top_n by default. */
  limit?: 10 | 100;
}

/** State is the latest state of a board. While disconnected, top keeps the last rows. */
export interface State {
  /** For a periodic board, the current period. */
  board: string;
  /** The rows, best first. Do not change them. */
  top: readonly Entry[];
  epoch: number;
  version: number;
  /** The server's time of these rows, RFC 3339; "" before the first. */
  updatedAt: string;
  /** When the server last confirmed these rows, by this machine's clock. */
  heardAt?: Date;
  connection: Connection;
  reconnects: number;
  /** Why the rows are not from a healthy ranking; "" if they are. */
  degraded: string;
  /** The latest change of the token's user. */
  me?: Move;
  /** The latest change of that user's tier, on a board with tiers. */
  tier?: TierMove;
  /** Why the watch is disconnected, or why it polls instead of following a stream. */
  error?: unknown;
}

/** Move is a change of the user's own score or rank. */
export interface Move {
  userId: string;
  score: number;
  /** Absent on a board without subscores. */
  subscore?: number;
  /** 0 if unknown. */
  rank: number;
  /** 0 if unknown. */
  previousRank: number;
}

/** TierMove is a move of the user to another tier of the board. */
export interface TierMove {
  userId: string;
  /** "" for none. */
  tier: string;
  /** "" for none. */
  previousTier: string;
}

/** Message is a message of a stream. */
export type Message = Camel<components["schemas"]["Message"]>;

/** Rows are what a frame or a poll says about a board. */
export type Rows = Pick<State, "board" | "top" | "updatedAt" | "degraded">;

interface Versioned extends Rows {
  epoch: number;
  version: number;
}

/** Position is the place of a message among those about the user. */
type Position = Pick<Versioned, "epoch" | "version">;

/** How long only lower epochs arrive before one is shown: longer than a server shows the epoch before a rebuild. */
const ACCEPT_LOWER = 5_000;

/** BoardState merges what the server says of a board, by the rules of docs/protocol.md. */
export class BoardState {
  state: State;
  #synced = false; // whether the rows are those of the server's epoch and version
  #lower?: Versioned & { since: number }; // the latest state with a lower epoch, unless another came after it
  #moved: Position = { version: 0, epoch: 0 }; // of the message that state.me is from
  #tiered: Position = { version: 0, epoch: 0 }; // and state.tier

  constructor(board: string) {
    this.state = {
      board, top: [], epoch: 0, version: 0, updatedAt: "", connection: "disconnected", reconnects: 0, degraded: "",
    };
  }

  /** resume is what a stream that connects says that it has; "" for nothing. */
  get resume(): string {
    const { epoch, version, degraded } = this.state;
    return this.#synced && !degraded ? `${epoch}:${version}` : "";
  }

  /** snapshot applies all rows, unless they are older than those shown. */
  snapshot(epoch: number, version: number, rows: Rows): void {
    const { state } = this;
    if (epoch < state.epoch ? !this.#acceptsLower({ ...rows, epoch, version })
      : epoch === state.epoch && version < state.version) return;
    this.#lower = undefined; // also by the state shown, from another node
    this.#synced = true;
    this.show({ ...rows, epoch, version });
  }

  /** show replaces rows, whatever their version. */
  show(rows: Rows & Partial<Versioned>): void {
    this.state = { ...this.state, ...rows };
  }

  /** delta applies changed rows. It returns false if the rows are not those of the delta's base. */
  delta(f: Message): boolean {
    const { state } = this;
    const lower = this.#lower;
    const { epoch = 0, version = 0 } = f;
    if (epoch < state.epoch) {
      if (lower?.epoch === epoch && lower.version === f.base && !lower.degraded) {
        this.snapshot(epoch, version, merge(lower, f));
      }
      return true;
    }
    if (epoch === state.epoch && (version < state.version || (version === state.version && !state.degraded))) {
      return true;
    }
    if (!this.#synced || state.degraded || epoch !== state.epoch || f.base !== state.version) {
      this.#synced = false;
      return false;
    }
    this.snapshot(epoch, version, merge(state, f));
    return true;
  }

  /** confirm handles a message without rows: the latest state is still the server's. */
  confirm(): void {
    if (this.#lower) this.snapshot(this.#lower.epoch, this.#lower.version, this.#lower);
  }

  /** move applies a change of the user's own standing, unless it is older than the one shown. */
  move(f: Message): void {
    if (!advance(this.#moved, f)) return;
    const me = {
      userId: f.userId ?? "", score: f.score ?? 0, rank: f.rank ?? 0, previousRank: f.previousRank ?? 0,
      ...(f.subscore === undefined ? {} : { subscore: f.subscore }),
    };
    this.state = { ...this.state, me };
  }

  /** tier applies a change of the user's tier, unless it is older than the one shown. */
  tier(f: Message): void {
    if (!advance(this.#tiered, f)) return;
    const tier = { userId: f.userId ?? "", tier: f.tier ?? "", previousTier: f.previousTier ?? "" };
    this.state = { ...this.state, tier };
  }

  /** Whether a state with a lower epoch replaces the one shown: nothing else has arrived for a while. */
  #acceptsLower({ board, top, updatedAt, degraded, epoch, version }: Versioned): boolean {
    const since = this.#lower?.since ?? Date.now();
    this.#lower = { board, top, updatedAt, degraded, epoch, version, since };
    if (Date.now() - since < ACCEPT_LOWER) return false;
    this.#moved = { version: 0, epoch: 0 }; // any change from now on is newer
    this.#tiered = { version: 0, epoch: 0 };
    return true;
  }
}

/** advance moves to a message, unless it is older than the one before. */
function advance(to: Position, { version = 0, epoch = 0 }: Message): boolean {
  if (version < to.version && epoch <= to.epoch) return false;
  Object.assign(to, { version, epoch });
  return true;
}

/** merge is the rows after a delta. */
function merge(rows: Rows, f: Message): Rows {
  const gone = new Set([...(f.removed ?? []), ...(f.changed ?? []).map((e) => e.userId)]);
  const top = [...rows.top.filter((e) => !gone.has(e.userId)), ...(f.changed ?? [])];
  top.sort((a, b) => a.rank - b.rank);
  return { board: f.board ?? rows.board, top, updatedAt: f.ts ?? "", degraded: "" };
}
