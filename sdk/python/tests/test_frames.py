"""The vectors of streams: the watch reads them from server-sent events, in virtual time."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import virtual
from test_conformance import cases, known

from scoreboard import State


class Stream(httpx.AsyncByteStream):
    def __init__(self) -> None:
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self.parts.get()) is not None:
            yield part


class Streams:
    """A server that answers every request with a new stream."""

    def __init__(self) -> None:
        self.connects: asyncio.Queue[tuple[str, Stream]] = asyncio.Queue()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        assert dict(request.url.params) == {"board": "global", "delta": "1"}
        stream = Stream()
        self.connects.put_nowait((request.headers.get("Last-Event-ID", ""), stream))
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=stream)


def shown(state: State) -> dict[str, Any]:
    # As in a frame: without what a row does not have, or is not.
    rows = [{k: v for k, v in dataclasses.asdict(row).items() if v is not None and v is not False} for row in state.top]
    out: dict[str, Any] = {
        "board": state.board,
        "epoch": state.epoch,
        "version": state.version,
        "degraded": state.degraded,
        "top": rows,
    }
    if state.me is not None:
        out["me"] = {k: v for k, v in dataclasses.asdict(state.me).items() if v is not None}
    if state.tier is not None:
        out["tier"] = dataclasses.asdict(state.tier)
    return out


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@cases("frames.json")
def test_frames(case: dict[str, Any]) -> None:
    known(case, "name", "delta", "steps", "resume")
    clock = virtual.Clock()
    server = Streams()

    async def main() -> None:
        async with virtual.async_client(clock, httpx.MockTransport(server)) as client:
            states: list[State] = []

            async def follow() -> None:
                async for state in client.watch(board="global", streams=["sse"]):
                    states.append(state)  # noqa: PERF401, so that they can be read meanwhile

            following = asyncio.ensure_future(follow())
            resume, stream = await server.connects.get()
            assert resume == ""
            start = clock.elapsed
            for step in case["steps"]:
                known(step, "at_ms", "frame", "keepalive", "state", "resync", "reconnect")
                await asyncio.sleep(max(step["at_ms"] / 1000 - (clock.elapsed - start), 0))
                message = ": ping\n\n" if step.get("keepalive") else f"data: {json.dumps(step['frame'])}\n\n"
                stream.parts.put_nowait(message.encode())
                sent = clock.elapsed
                if bounds := step.get("reconnect"):
                    resume, stream = await server.connects.get()
                    waited = (clock.elapsed - sent) * 1000
                    assert bounds["min_ms"] - 0.001 <= waited <= bounds["max_ms"] + 0.001
                    continue
                await settle()
                if step.get("resync"):
                    resume, stream = server.connects.get_nowait()
                    assert clock.elapsed == sent
                    assert resume == ""
                else:
                    assert server.connects.empty()
                    assert shown(states[-1]) == step["state"]
            last = case["steps"][-1]
            if not last.get("reconnect") and not last.get("resync"):
                stream.parts.put_nowait(None)
                resume, stream = await server.connects.get()
            assert resume == case["resume"]
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    virtual.run(clock, main())


@pytest.mark.parametrize("cut", range(1, 30))
def test_events_may_come_in_any_pieces(cut: int) -> None:
    from scoreboard._event_stream import EventStream

    text = 'id: 1\r\nevent: x\r\ndata: {"a":\r\ndata: "\u2028é"}\r\n\r\n: ping\n\ndata:1\n\n'.encode()
    events = EventStream()
    got = []
    for start in range(0, len(text), cut):
        got += events.feed(text[start : start + cut])
    assert got == ['{"a":\n"\u2028é"}'.encode(), None, b"1"]


def test_an_event_has_a_bound() -> None:
    from scoreboard._event_stream import EventStream

    for endless in (b"data: " + b"x" * 60_000, b"data: " + b"x" * 60_000 + b"\n"):
        events = EventStream()
        with pytest.raises(ValueError, match="bytes"):
            for _ in range(100):
                list(events.feed(endless))
