import assert from "node:assert/strict";
import { test } from "node:test";

import { Scoreboard } from "@scoreboard/client";

test("places, cohorts and outcomes of leagues are read", async () => {
  const requests: string[] = [];
  const outcome = {
    id: 4811, league: "stars", board: "stars:2026-w46", user_id: "ada", revision: 1, cohort: 4711, rank: 3, players: 50,
    from_division: 1, to_division: 2, decided_at: "2026-11-16T00:00:02Z",
  };
  const sb = new Scoreboard({
    server: "https://scores.example.com", token: "t",
    fetch: async (url, init) => {
      const { pathname, search } = new URL(String(url));
      requests.push(`${init?.method} ${pathname}${search}`);
      return Response.json(
        pathname.endsWith("/leagues") ? { outcomes: [outcome], next_before: 4811 }
          : pathname.includes("/cohorts/") ? { cohort: 4711, entries: [], next_after: 7 }
          : { state: "placed", seconds_left: 60, zone: "promotion" },
      );
    },
  });
  const place = await sb.league("stars", { k: 2 });
  await sb.league("stars", { userId: "bob" });
  const cohort = await sb.cohort("stars", 4711, { after: 5, limit: 2 });
  const history = await sb.leagueHistory({ league: "stars" });
  assert.equal(place.secondsLeft, 60);
  assert.equal(place.zone, "promotion");
  assert.equal(cohort.nextAfter, 7);
  assert.equal(history.outcomes[0]?.toDivision, 2);
  assert.equal(history.nextBefore, 4811);
  assert.deepEqual(requests, [
    "GET /v1/leagues/stars/me?k=2", "GET /v1/leagues/stars/users/bob", "GET /v1/leagues/stars/cohorts/4711?after=5&limit=2",
    "GET /v1/users/me/leagues?league=stars",
  ]);
});
