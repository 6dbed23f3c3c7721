import { settingsOf } from "../src/options.js";
import { segment, Transport } from "../src/transport.js";
import type { Place, Top } from "../src/types.js";
import type { Connection, State } from "../src/watch/state.js";
import { Watcher } from "../src/watch/watch.js";

/** Query selects what a page shows. */
export interface Query {
  board: string;
  limit: 10 | 100;
}

/** Source reads a board from its page's routes, with a token or without. */
export class Source {
  readonly transport: Transport;
  readonly path: string;

  /** server is the address that the pages are below, such as https://scores.example.com. */
  constructor(server: string, readonly query: Query, token = "") {
    this.transport = new Transport(settingsOf({ server, token, webSocket: false }));
    this.path = `/b/${segment(query.board)}`;
  }

  /** top reads the first rows once. */
  top(): Promise<Top> {
    return this.transport.try({ method: "GET", path: `${this.path}/top`, query: { limit: this.query.limit } });
  }

  /** player reads a player's standing and neighbours. */
  player(user: string): Promise<Place> {
    return this.transport.try({ method: "GET", path: `${this.path}/players/${segment(user)}` });
  }

  /**
   * follow calls show with each state, until stop is called. The stream is of events, and while
   * there is none, polls take its place. problem is called when the server rejects both.
   */
  follow(show: (state: State) => void, problem: (error: unknown) => void): () => void {
    const stopped = new AbortController();
    const watcher = new Watcher(this.transport, this.query, {
      stream: `/v1/realtime/pages/${segment(this.query.board)}`, top: `${this.path}/top`, query: {},
    });
    const run = async (): Promise<void> => {
      void watcher.run(stopped.signal);
      try {
        for await (const state of watcher.states.read()) {
          if (!stopped.signal.aborted) show(state);
        }
      } catch (error) {
        if (!stopped.signal.aborted) problem(error);
      }
    };
    void run();
    return () => stopped.abort();
  }
}

/** serverOf is the address of the server that a module of /assets/ came from. */
export function serverOf(module: string): string {
  return new URL("..", module).href;
}

/** warningOf says why rows may be out of date; "" if they are not. */
export function warningOf(degraded: string): string {
  if (degraded === "") return "";
  if (degraded === "rebuilding") return "The ranking is being rebuilt. These rows come from the database.";
  return "These ranks may be out of date.";
}

const ages = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** A stream confirms the rows at least so often, in seconds: a little more than the server's keepalive. */
const CONFIRMED = 35;

/** ageOf says how long ago rows were confirmed; "" while a stream does so in time. */
export function ageOf(at: Date, connection: Connection): string {
  const seconds = Math.max(0, Math.round((Date.now() - at.getTime()) / 1000));
  if (connection === "sse" && seconds < CONFIRMED) return "";
  if (seconds < 120) return ages.format(-seconds, "second");
  return ages.format(-Math.round(seconds / 60), "minute");
}
