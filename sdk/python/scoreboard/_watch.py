"""Follows a board over a WebSocket, else server-sent events, else by polling, until it is cancelled."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import websockets.asyncio.client
import websockets.exceptions

from scoreboard import _call, _operations
from scoreboard._board import Board, Resync, State, StreamClosing
from scoreboard._config import MAX_FRAME, MAX_RESPONSE, Config
from scoreboard._decode import decode
from scoreboard._event_stream import EventStream
from scoreboard._types import Message, Top
from scoreboard.errors import ScoreboardError, error_of, unavailable

# What a stream may fail with. Anything else is a mistake in a program.
_FAILURES = (
    *_call.FAILURES,
    asyncio.TimeoutError,  # not an OSError in Python 3.10
    EOFError,
    Resync,
    StreamClosing,
    ValueError,
    websockets.exceptions.WebSocketException,
)

_CLOSE_CODES = {4401: "unauthorized", 4403: "forbidden", 4429: "rate_limited"}


class _Connect(websockets.asyncio.client.connect):
    """Follows no redirects: another server must not get the token."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Watcher:
    """Runs a watch. read makes a call with one try."""

    def __init__(
        self,
        config: Config,
        http: httpx.AsyncClient,
        token: Callable[[], Any],
        read: Callable[[_call.Call[Top]], Any],
        board: str,
        limit: int,
        streams: tuple[str, ...],
        publish: Callable[[State], None],
    ) -> None:
        self._config = config
        self._http = http
        self._token = token
        self._read = read
        self._name = board or "global"
        self._limit = limit
        self._streams = streams
        self._board = Board(config, self._name, publish)
        self._received = False  # a message, over the current stream

    async def run(self) -> None:
        """Follow the board until cancelled, or until a poll, the last resort, is rejected: raises its error."""
        waits = self._config.waits
        failures, poll_for, resynced = 0, waits.poll_for, float("-inf")
        while True:
            received, error = await self._live()
            if isinstance(error, Resync) and self._config.monotonic() - resynced > 1:
                resynced = self._config.monotonic()
                continue  # at once, but a server that sends nothing else must not be asked all the time
            if self._board.state.connection != "polling":  # polling works and continues shortly
                self._board.disconnected(error)
            if received:
                failures, poll_for = 0, waits.poll_for
            wait = self._config.jitter(failures, waits.retry_base, waits.retry_cap)
            if self._board.reconnect_after:  # the server spreads its clients
                wait, self._board.reconnect_after = self._board.reconnect_after, 0
            await asyncio.sleep(wait)
            failures += 1
            if received:
                continue
            await self._poll(poll_for, error)
            poll_for = min(2 * poll_for, waits.poll_for_cap)

    async def _live(self) -> tuple[bool, Exception]:
        """Follow the streams in turn until one that works ends: whether it did, and why it ended."""
        first: Exception | None = None
        for name in self._streams:
            self._received = False
            try:
                await (self._websocket() if name == "ws" else self._sse())
                error: Exception = EOFError("the stream ended")
            except _FAILURES as failed:
                error = failed
            if self._received or isinstance(error, Resync):
                return True, error
            first = first or error
        return False, first or unavailable("no kind of stream is allowed", op="watch")

    async def _request(self) -> tuple[httpx.URL, dict[str, str]]:
        query = {"board": self._name, "delta": "1"}
        if self._limit:
            query["limit"] = str(self._limit)
        sent = _call.headers(self._config, await self._token())
        if resume := self._board.resume():
            sent["Last-Event-ID"] = resume
        return _call.address(self._config, "/v1/realtime/leaderboard", query), sent

    # WebSocket

    async def _websocket(self) -> None:
        url, sent = await self._request()
        agent = sent.pop("User-Agent")
        secure = url.scheme == "https"
        context = (self._config.ssl_context or ssl.create_default_context()) if secure else None
        address = str(url.copy_with(scheme="wss" if secure else "ws"))
        try:
            connection = await _Connect(
                address,
                additional_headers=sent,
                user_agent_header=agent,
                open_timeout=self._config.try_timeout,
                close_timeout=1,
                ping_interval=None,  # _ping does, because its answers are shown
                max_size=MAX_FRAME,
                compression=None,
                ssl=context,
            )
        except websockets.exceptions.InvalidStatus as refused:
            answer = refused.response
            response = httpx.Response(answer.status_code, headers=list(answer.headers.raw_items()))
            error = _call.response_error(response, bytes(answer.body or b"")[:MAX_RESPONSE], self._config.now())
            error.op = "connect by WebSocket"
            raise error from refused
        except asyncio.TimeoutError as late:
            raise unavailable("no answer in time", late, op="connect by WebSocket") from late
        pings = asyncio.ensure_future(self._ping(connection))
        try:
            while True:
                message = asyncio.ensure_future(connection.recv())
                try:
                    await asyncio.wait({message, pings}, return_when=asyncio.FIRST_COMPLETED)
                    if not message.done():
                        pings.result()  # raises: nothing was heard for too long
                    self._message("ws", message.result())
                finally:
                    message.cancel()
        except websockets.exceptions.ConnectionClosed as closed:
            raise _close_error(closed) from closed
        finally:
            pings.cancel()
            closing = asyncio.ensure_future(connection.close())
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await asyncio.wait({closing}, timeout=1)

    async def _ping(self, connection: websockets.asyncio.client.ClientConnection) -> None:
        """Confirm the connection. Messages alone do not: on an idle board there are none for hours."""
        waits = self._config.waits
        while True:
            answer = asyncio.ensure_future(await connection.ping())
            await asyncio.wait({answer}, timeout=waits.max_silence - waits.ping)
            if not answer.done():
                raise unavailable("no message from the server for too long", op="read the stream")
            await answer  # raises if the connection was closed
            self._received = True
            self._board.heartbeat("ws")
            await asyncio.sleep(waits.ping)

    # Server-sent events

    async def _sse(self) -> None:
        url, sent = await self._request()
        sent["Accept"] = "text/event-stream"
        # A dead connection sends nothing, so silence ends the stream.
        timeout = httpx.Timeout(self._config.try_timeout, read=self._config.waits.max_silence).as_dict()
        request = httpx.Request("GET", url, headers=sent, extensions={"timeout": timeout})
        response = await self._open(request)
        try:
            if response.status_code != 200 or not response.headers.get("Content-Type", "").startswith(
                "text/event-stream"
            ):
                body = b""
                async for part in response.aiter_bytes():
                    body = (body + part)[:MAX_RESPONSE]
                    if len(body) == MAX_RESPONSE:
                        break
                error = _call.response_error(response, body, self._config.now())
                error.op = "connect by SSE"
                raise error
            events = EventStream()
            async for part in response.aiter_bytes():
                for data in events.feed(part):
                    if data is None:
                        self._received = True
                        self._board.heartbeat("sse")
                    else:
                        self._message("sse", data)
        finally:
            await response.aclose()

    async def _open(self, request: httpx.Request) -> httpx.Response:
        sending = asyncio.ensure_future(self._http.send(request, stream=True))
        try:
            await asyncio.wait({sending}, timeout=self._config.try_timeout)
            if not sending.done():
                raise unavailable("no answer in time", op="connect by SSE")
            return sending.result()
        except BaseException:
            sending.cancel()
            await asyncio.wait({sending})
            if not sending.cancelled() and sending.exception() is None:
                await sending.result().aclose()
            raise

    def _message(self, kind: Any, data: str | bytes) -> None:
        self._board.frame(kind, decode(Message, json.loads(data)))
        self._received = True

    # Polling

    async def _poll(self, duration: float, stream_error: Exception) -> None:
        """Read the top every few seconds for about the duration, while streams do not work. Returns early when the
        server is back after an outage, because streams may work again."""
        waits = self._config.waits
        end = self._config.monotonic() + duration
        failures = 0
        while True:
            wait = waits.poll_min + self._config.random() * (waits.poll_max - waits.poll_min)
            try:
                top = await self._read(_operations.top(self._name, self._limit, "", "", 0))
            except ScoreboardError as error:
                error.op = "poll the top"
                if error.status in (401, 403, 404):
                    raise
                self._board.disconnected(error)
                jitter = self._config.jitter(failures, waits.poll_min, waits.poll_max)
                wait = max(jitter, min(error.retry_after, waits.max_reconnect_after))
                failures += 1
            else:
                self._board.polled(top, stream_error)
                if failures:
                    return
            if not failures and self._config.monotonic() + wait > end:
                return
            await asyncio.sleep(wait)


def _close_error(closed: websockets.exceptions.ConnectionClosed) -> Exception:
    """The API's error of a close code."""
    if closed.rcvd is None or closed.rcvd.code not in _CLOSE_CODES:
        return unavailable(str(closed), closed, op="read the stream")
    code = _CLOSE_CODES[closed.rcvd.code]
    return error_of(code, closed.rcvd.reason, op="read the stream", status=_call.status_of(code))


class Latest:
    """Holds the latest state for a reader, who skips states while it is slow, and why there are no more."""

    def __init__(self) -> None:
        self._state: State | None = None
        self._wake = asyncio.Event()

    def put(self, state: State) -> None:
        self._state = state
        self._wake.set()

    async def states(self, running: "asyncio.Future[None]") -> AsyncIterator[State]:
        """The states until running ends; then its error."""
        running.add_done_callback(lambda _: self._wake.set())
        while True:
            await self._wake.wait()
            self._wake.clear()
            state, self._state = self._state, None
            if state is not None:
                yield state
            elif running.done():
                running.result()
                return
