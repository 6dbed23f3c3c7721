"""Places, cohorts and outcomes of leagues are read."""

from typing import Any

import httpx
import pytest
import virtual

OUTCOME = {
    "id": 4811,
    "league": "stars",
    "board": "stars:2026-w46",
    "user_id": "ada",
    "revision": 1,
    "cohort": 4711,
    "rank": 3,
    "players": 50,
    "from_division": 1,
    "to_division": 2,
    "decided_at": "2026-11-16T00:00:02Z",
}
PLACE = {
    "league": "stars",
    "board": "stars:2026-w47",
    "user_id": "ada",
    "division": 2,
    "divisions": 5,
    "state": "waiting",
    "ends_at": "2026-11-23T00:00:00Z",
    "seconds_left": 60,
    "degraded": False,
}
COHORT = {
    "league": "stars",
    "board": "stars:2026-w47",
    "cohort": 4711,
    "division": 2,
    "entries": [{"rank": 1, "user_id": "ada", "score": 120}],
    "players": 1,
    "promote": 0,
    "relegate": 0,
    "as_of": "2026-11-21T12:00:00Z",
    "age_ms": 180,
    "degraded": False,
}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_leagues(kind: str) -> None:
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        requests.append(path)
        if "/cohorts/" in path:
            return httpx.Response(200, json=COHORT)
        if path.startswith("/v1/users/"):
            return httpx.Response(200, json={"outcomes": [OUTCOME], "next_before": 7})
        return httpx.Response(200, json=PLACE)

    def call(method: str, *args: Any, **kwargs: Any) -> Any:
        clock, transport = virtual.Clock(), httpx.MockTransport(answer)
        if kind == "sync":
            return getattr(virtual.sync_client(clock, transport), method)(*args, **kwargs)

        async def main() -> Any:
            async with virtual.async_client(clock, transport) as client:
                return await getattr(client, method)(*args, **kwargs)

        return virtual.run(clock, main())

    place = call("league", "stars", k=2)
    assert (place.state, place.division, place.seconds_left) == ("waiting", 2, 60)
    assert call("league", "stars", "bob") == place
    assert call("cohort", "stars", 4711, after=5).entries[0].score == 120
    history = call("league_history", league="stars")
    assert (history.outcomes[0].to_division, history.next_before) == (2, 7)
    assert requests == [
        "/v1/leagues/stars/me?k=2",
        "/v1/leagues/stars/users/bob",
        "/v1/leagues/stars/cohorts/4711?after=5",
        "/v1/users/me/leagues?league=stars",
    ]
