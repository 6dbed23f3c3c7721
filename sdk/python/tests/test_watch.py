"""Watches of a real daemon."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from daemon import Daemon
from proxy import Proxy

from scoreboard import AsyncScoreboard, NotFoundError, Scoreboard, State, UnauthorizedError


@pytest.fixture
def proxy(daemon: Daemon) -> Iterator[Proxy]:
    one = Proxy(daemon.port)
    yield one
    one.close()


def until(states: Iterator[State], holds: Callable[[State], bool], seconds: float = 60) -> State:
    """The first state that fulfils a condition."""
    end = time.monotonic() + seconds
    for state in states:
        if holds(state):
            return state
        assert time.monotonic() < end, f"last {state}"
    raise AssertionError("the watch ended")


def leads(user: str, connection: str) -> Callable[[State], bool]:
    return lambda s: s.connection == connection and bool(s.top) and s.top[0].user_id == user and not s.degraded


def watching() -> int:
    """The number of watches that run in threads."""
    return sum(t.name == "scoreboard-watch" for t in threading.enumerate())


def own_board(daemon: Daemon, name: str) -> str:
    daemon.sbctl("board", "create", name)
    return name


@pytest.mark.parametrize("stream", ["ws", "sse"])
def test_watch_over_each_stream(daemon: Daemon, stream: Literal["ws", "sse"]) -> None:
    board = own_board(daemon, f"watch-{stream}")
    before = watching()
    options = {**daemon.options, "token": daemon.token("walt")}
    with Scoreboard(**daemon.options) as server, Scoreboard(**options) as sb:
        server.submit(user_id="ann", delta=5, board=board)
        states = sb.watch(board=board, streams=[stream])
        first = until(states, leads("ann", stream))
        assert (first.board, first.reconnects, first.me) == (board, 0, None)
        server.submit(user_id="bea", delta=3, board=board)
        second = until(states, lambda s: len(s.top) == 2)
        assert [(e.rank, e.user_id, e.score) for e in second.top] == [(1, "ann", 5), (2, "bea", 3)]
        assert second.version > first.version
        server.submit(user_id="walt", delta=9, board=board)
        me = until(states, lambda s: s.me is not None).me
        assert me is not None
        assert (me.user_id, me.score, me.rank) == ("walt", 9, 1)
        server.submit(user_id="bea", delta=9, board=board)
        last = until(states, leads("bea", stream))
        assert [(e.rank, e.user_id, e.score) for e in last.top] == [(1, "bea", 12), (2, "walt", 9), (3, "ann", 5)]
        states.close()
    assert watching() == before


def test_watch_ends_with_the_loop_or_the_client(daemon: Daemon) -> None:
    before = watching()
    with Scoreboard(**daemon.options) as sb:
        for _ in sb.watch():
            break
        assert watching() == before
        threading.Timer(0.5, sb.close).start()
        began = time.monotonic()
        for _ in sb.watch():
            pass  # ends when the other thread closes the client
        assert time.monotonic() - began < 10


def test_watch_that_is_rejected_raises(daemon: Daemon) -> None:
    with (
        Scoreboard(daemon.env["SBCTL_SERVER"], token="wrong") as sb,
        pytest.raises(UnauthorizedError),
    ):
        list(sb.watch())
    with Scoreboard(**daemon.options) as sb, pytest.raises(NotFoundError):
        list(sb.watch(board="nowhere"))


def test_watch_reconnects_and_resumes(daemon: Daemon, proxy: Proxy) -> None:
    board = own_board(daemon, "watch-cut")
    with Scoreboard(**daemon.options) as server, Scoreboard(**{**daemon.options, "server": proxy.url}) as sb:
        server.submit(user_id="ann", delta=5, board=board)
        states = sb.watch(board=board)
        until(states, leads("ann", "ws"))
        proxy.refuse = True
        proxy.cut()
        away = until(states, lambda s: s.connection == "disconnected")
        assert away.error is not None
        assert away.top[0].user_id == "ann"
        server.submit(user_id="bea", delta=9, board=board)
        proxy.refuse = False
        back = until(states, leads("bea", "ws"))
        assert back.reconnects >= 1
        states.close()


def test_watch_polls_where_streams_are_blocked(tmp_path: Path) -> None:
    blocked = Daemon(tmp_path, settings={"SCOREBOARD_REALTIME_ENABLED": "false"})
    blocked.start()
    try:
        with Scoreboard(**blocked.options) as sb:
            sb.submit(user_id="ann", delta=5)
            states = sb.watch()
            state = until(states, leads("ann", "polling"))
            assert state.error is not None  # why it polls
            sb.submit(user_id="bea", delta=9)
            until(states, leads("bea", "polling"))
            states.close()
    finally:
        blocked.stop()


def test_slow_readers_skip_states(daemon: Daemon) -> None:
    board = own_board(daemon, "watch-slow")

    async def main() -> None:
        async with AsyncScoreboard(**daemon.options) as sb:  # type: ignore[arg-type]
            await sb.submit(user_id="u", delta=1, board=board)
            async with contextlib.aclosing(sb.watch(board=board)) as states:
                async for state in states:
                    if state.top:
                        break
                for _ in range(10):
                    await sb.submit(user_id="u", delta=1, board=board)
                    await asyncio.sleep(0.25)
                assert (await anext(states)).top[0].score == 11

    asyncio.run(main())


def test_cancelled_watch_leaves_nothing(daemon: Daemon) -> None:
    async def main() -> None:
        async with AsyncScoreboard(**daemon.options) as sb:  # type: ignore[arg-type]

            async def follow() -> None:
                async for _ in sb.watch():
                    pass

            for n in range(10):
                following = asyncio.ensure_future(follow())
                await asyncio.sleep(n / 100)
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await following
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_watch_outlives_its_token(daemon: Daemon) -> None:
    """The server ends a stream when its token expires; the watch comes back with the next token. A client that has
    only the old one is rejected, at once."""
    expiring = daemon.expiring
    assert expiring is not None
    with Scoreboard(**{**daemon.options, "token": expiring.first}) as old:
        time.sleep(max(expiring.expired_at - time.monotonic(), 0))
        with pytest.raises(UnauthorizedError) as rejected:
            old.submit(user_id="expiring", delta=1, event_id="kept")
        assert (rejected.value.attempts, rejected.value.event_id) == (1, "kept")
        with pytest.raises(UnauthorizedError):
            list(old.watch())
    state = until(expiring.states, lambda s: s.connection == "ws" and len(expiring.tokens) > 1)
    assert state.reconnects >= 1
    assert expiring.client.submit(user_id="expiring", delta=1, event_id="kept").new_score == 1
