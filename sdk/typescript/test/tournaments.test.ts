import assert from "node:assert/strict";
import { test } from "node:test";

import { Scoreboard, ScoreboardError } from "@scoreboard/client";

test("a user joins and leaves a period", async () => {
  const requests: string[] = [];
  const state = {
    board: "cup:spring", starts_at: "2026-11-28T18:00:00Z", ends_at: "2026-12-05T18:00:00Z", players: 12, max_players: 64,
    user_id: "ada", joined: true, joined_at: "2026-11-21T12:00:00Z",
  };
  const sb = new Scoreboard({
    server: "https://scores.example.com", token: "t",
    fetch: async (url, init) => {
      const { pathname, search } = new URL(String(url));
      requests.push(`${init?.method} ${pathname}${search}`);
      return search.includes("eve")
        ? Response.json({ error_code: "tournament_full", message: "it is full", request_id: "r" }, { status: 409 })
        : Response.json(state);
    },
  });
  const joined = await sb.joinBoard("cup");
  assert.equal(joined.startsAt, state.starts_at);
  assert.equal(joined.maxPlayers, 64);
  assert.deepEqual(await sb.leaveBoard("cup:spring", { userId: "ada" }), joined);
  assert.deepEqual(await sb.participation("cup"), joined);
  await assert.rejects(sb.joinBoard("cup", { userId: "eve" }), (err) =>
    err instanceof ScoreboardError && err.code === "tournament_full" && err.nextStep !== "");
  assert.deepEqual(requests, [
    "POST /v1/boards/cup/join", "DELETE /v1/boards/cup%3Aspring/join?user_id=ada", "GET /v1/boards/cup/join",
    "POST /v1/boards/cup/join?user_id=eve",
  ]);
});
