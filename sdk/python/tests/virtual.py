"""Virtual time: an event loop whose clock jumps to the next timer, and a client on the same clock for threads."""

import asyncio
import contextlib
import selectors
from collections.abc import Coroutine, Iterator
from datetime import datetime, timezone
from typing import Any, TypeVar
from unittest import mock

import httpx

from scoreboard import AsyncScoreboard, Scoreboard

T = TypeVar("T")

START = datetime(2000, 1, 1, tzinfo=timezone.utc).timestamp()


class Clock:
    """Seconds since the start."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def now(self) -> float:
        return START + self.elapsed

    def monotonic(self) -> float:
        return 1000 + self.elapsed

    def advance(self, seconds: float) -> None:
        self.elapsed += seconds


class _Selector(selectors.SelectSelector):
    """Never waits: the time until the next timer passes at once."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("the test waits forever")
        if not ready:
            self.clock.advance(timeout or 0)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self.clock.monotonic()


def run(clock: Clock, main: Coroutine[Any, Any, T]) -> T:
    loop = _Loop(clock)
    try:
        return loop.run_until_complete(main)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@contextlib.contextmanager
def on_clock(clock: Clock, transport: httpx.MockTransport) -> Iterator[None]:
    """Clients made within use the clock and the transport."""
    from scoreboard import _config

    made = _config.Config

    def config(**values: Any) -> Any:
        return made(**values, now=clock.now, monotonic=clock.monotonic, transport=transport)

    with mock.patch.object(_config, "Config", config):
        yield


def sync_client(clock: Clock, transport: httpx.MockTransport, prefix: str = "", **options: Any) -> Scoreboard:
    with on_clock(clock, transport):
        client = Scoreboard("https://scores.example.com" + prefix, **options)
    client._sleep = clock.advance
    return client


def async_client(clock: Clock, transport: httpx.MockTransport, prefix: str = "", **options: Any) -> AsyncScoreboard:
    with on_clock(clock, transport):
        return AsyncScoreboard("https://scores.example.com" + prefix, **options)
