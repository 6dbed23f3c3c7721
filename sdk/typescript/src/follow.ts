import type { Scoreboard } from "./client.js";
import type { State, WatchOptions } from "./watch/state.js";

/** LiveBoard is a watched board for a page: its latest state, or why the watch ended. */
export interface LiveBoard {
  state?: State;
  /** Why the server rejected the watch permanently, such as an unknown board. */
  error?: unknown;
}

/** follow calls show with each state of a board until stop is called. */
export function follow(sb: Scoreboard, query: WatchOptions, show: (live: LiveBoard) => void): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  const run = async (): Promise<void> => {
    let state: State | undefined;
    try {
      for await (state of sb.watch(query, { signal })) {
        if (!signal.aborted) show({ state });
      }
    } catch (error) {
      if (!signal.aborted) show({ state, error });
    }
  };
  void run();
  return () => stopped.abort();
}
