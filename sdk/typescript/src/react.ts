import { useEffect, useState } from "react";

import type { Scoreboard } from "./client.js";
import { follow, type LiveBoard } from "./follow.js";
import type { WatchOptions } from "./watch/state.js";

export type { LiveBoard };

/**
 * useLeaderboard follows a board while the component is mounted: { state } with the latest state,
 * {} before the first, and { error } if the server rejects the watch. Make the client once,
 * outside of the component.
 */
export function useLeaderboard(sb: Scoreboard, { board, limit }: WatchOptions = {}): LiveBoard {
  const [live, show] = useState<LiveBoard>({});
  useEffect(() => {
    show({});
    return follow(sb, { board, limit }, show);
  }, [sb, board, limit]);
  return live;
}
