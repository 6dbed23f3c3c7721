import assert from "node:assert/strict";
import { test } from "node:test";

import { Scoreboard } from "@scoreboard/client";

test("a reward is claimed, and its fields stay the game's", async () => {
  const requests: string[] = [];
  const reward = {
    id: 8841, user_id: "ada", board: "weekly:2026-w46", rank: 2, reward: { gem_count: 500, items: [{ item_id: 1 }] },
    state: "claimed", revision: 1, granted_at: "2026-11-16T00:00:02Z", expires_at: "2027-02-14T00:00:02Z",
    claimed_at: "2026-11-16T08:12:00Z",
  };
  const sb = new Scoreboard({
    server: "https://scores.example.com", token: "t",
    fetch: async (url, init) => {
      const { pathname, search } = new URL(String(url));
      requests.push(`${init?.method} ${pathname}${search}`);
      return Response.json(init?.method === "POST" ? reward : { rewards: [reward], next_before: 8841 });
    },
  });
  const page = await sb.rewards({ state: "claimable", limit: 5 });
  const claimed = await sb.claim(8841);
  await sb.claim(8841, { userId: "ada" });
  assert.equal(page.nextBefore, 8841);
  assert.deepEqual(page.rewards[0], claimed);
  assert.deepEqual(claimed.reward, reward.reward);
  assert.equal(claimed.claimedAt, reward.claimed_at);
  assert.deepEqual(requests, [
    "GET /v1/users/me/rewards?state=claimable&limit=5", "POST /v1/users/me/rewards/8841/claim",
    "POST /v1/users/ada/rewards/8841/claim",
  ]);
});
