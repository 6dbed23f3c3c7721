import type { Query } from "../transport.js";
import { camel } from "../camel.js";
import type { Message } from "./state.js";
import type { Watcher } from "./watch.js";

/** Routes are where a watch reads a board. */
export interface Routes {
  stream: string;
  top: string;
  /** The board, for routes that take it in their query. */
  query: Query;
}

/** apiRoutes are the routes of the API. */
export function apiRoutes(board?: string): Routes {
  return { stream: "/v1/realtime/leaderboard", top: "/v1/leaderboard/top", query: { board } };
}

/** The maximum size of a message, in characters; 100 rows with names and avatars are far smaller. */
export const MAX_FRAME = 1 << 20;

/** A stream is dead after this time without a message. The server sends a keepalive every 30 s. */
export const MAX_SILENCE = 75_000;

/** streamQuery is what a stream of a watch asks for. */
export function streamQuery({ routes, query, board }: Watcher): Query {
  return { ...routes.query, limit: query.limit, delta: 1, last_event_id: board.resume };
}

/** decode parses a message. */
export function decode(text: string): Message {
  return camel(JSON.parse(text)) as Message;
}

/** Watchdog ends a stream that is silent for too long. */
export class Watchdog {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly silent: (error: Error) => void) {
    this.reset();
  }

  reset(): void {
    this.stop();
    this.#timer = setTimeout(() => {
      this.silent(new Error(`no message from the server for ${MAX_SILENCE / 1000} s`));
    }, MAX_SILENCE);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
