"""A user joins and leaves a period of a board that requires it."""

from typing import Any

import httpx
import pytest
import virtual

from scoreboard import TournamentFullError

STATE = {
    "board": "cup:spring",
    "starts_at": "2026-11-28T18:00:00Z",
    "ends_at": "2026-12-05T18:00:00Z",
    "players": 12,
    "max_players": 64,
    "user_id": "ada",
    "joined": True,
    "joined_at": "2026-11-21T12:00:00Z",
}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_tournaments(kind: str) -> None:
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(f"{request.method} {request.url.raw_path.decode()}")
        if "eve" in requests[-1]:
            return httpx.Response(409, json={"error_code": "tournament_full", "message": "full", "request_id": "r"})
        return httpx.Response(200, json=STATE)

    def call(method: str, *args: Any, **kwargs: Any) -> Any:
        clock, transport = virtual.Clock(), httpx.MockTransport(answer)
        if kind == "sync":
            return getattr(virtual.sync_client(clock, transport), method)(*args, **kwargs)

        async def main() -> Any:
            async with virtual.async_client(clock, transport) as client:
                return await getattr(client, method)(*args, **kwargs)

        return virtual.run(clock, main())

    joined = call("join_board", "cup")
    assert joined.board == "cup:spring" and joined.max_players == 64 and joined.joined
    assert call("leave_board", "cup:spring", "ada") == joined == call("participation", "cup")
    with pytest.raises(TournamentFullError):
        call("join_board", "cup", "eve")
    assert requests == [
        "POST /v1/boards/cup/join",
        "DELETE /v1/boards/cup%3Aspring/join?user_id=ada",
        "GET /v1/boards/cup/join",
        "POST /v1/boards/cup/join?user_id=eve",
    ]
