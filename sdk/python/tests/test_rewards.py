"""Rewards are listed and claimed, and what a winner gets stays as the game has written it."""

from typing import Any

import httpx
import pytest
import virtual

REWARD = {
    "id": 8841,
    "user_id": "ada",
    "board": "weekly:2026-w46",
    "rank": 2,
    "reward": {"gem_count": 500, "items": [{"item_id": 1}, None]},
    "state": "claimed",
    "revision": 1,
    "granted_at": "2026-11-16T00:00:02Z",
    "expires_at": "2027-02-14T00:00:02Z",
    "claimed_at": "2026-11-16T08:12:00Z",
}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_rewards(kind: str) -> None:
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(f"{request.method} {request.url.raw_path.decode()}")
        return httpx.Response(200, json=REWARD if request.method == "POST" else {"rewards": [REWARD], "next_before": 7})

    def call(method: str, *args: Any, **kwargs: Any) -> Any:
        clock, transport = virtual.Clock(), httpx.MockTransport(answer)
        if kind == "sync":
            return getattr(virtual.sync_client(clock, transport), method)(*args, **kwargs)

        async def main() -> Any:
            async with virtual.async_client(clock, transport) as client:
                return await getattr(client, method)(*args, **kwargs)

        return virtual.run(clock, main())

    page = call("rewards", state="claimable", limit=5)
    claimed = call("claim", 8841)
    assert call("claim", 8841, "ada") == claimed == page.rewards[0]
    assert page.next_before == 7
    assert claimed.reward == REWARD["reward"]
    assert requests == [
        "GET /v1/users/me/rewards?state=claimable&limit=5",
        "POST /v1/users/me/rewards/8841/claim",
        "POST /v1/users/ada/rewards/8841/claim",
    ]
