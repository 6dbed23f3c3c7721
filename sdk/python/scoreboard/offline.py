"""Queues that keep increments in a file while the server cannot be reached, and send them in order."""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from scoreboard._operations import MAX_BATCH, Increment
from scoreboard._store import Queued, Rejected, Store
from scoreboard.aio import AsyncScoreboard
from scoreboard.client import Scoreboard
from scoreboard.errors import ScoreboardError

_BATCH_BYTES = 256 << 10  # far below the API's limit; large requests would queue on the server
_ROUNDS = 5  # without progress, before a flush gives up
_MAX_WAIT = 30.0  # seconds between flushes of run


@dataclass(frozen=True)
class Flushed:
    """What a flush did: how many increments were counted, and how many rejected."""

    sent: int
    rejected: int


@dataclass
class _Round:
    """What the results of one request mean for the queue."""

    done: list[Queued]
    rejected: list[tuple[Queued, ScoreboardError]]
    later: ScoreboardError | None = None  # of an increment that is sent again
    last: bool = False  # nothing else can be sent: the client has retried already, or the token or the key is wrong


def _sort(queued: Sequence[Queued], errors: Sequence[ScoreboardError | None]) -> _Round:
    out = _Round([], [])
    for each, error in zip(queued, errors, strict=True):
        if error is None:
            out.done.append(each)
        elif error.temporary or error.status == 401:
            out.later = out.later or error
            out.last = out.last or error.status == 401
        else:
            out.rejected.append((each, error))
    return out


class _Queue:
    """What both queues share."""

    def __init__(self, path: str | os.PathLike[str], max_events: int) -> None:
        self._store = Store(path, max_events)
        self._singly = False  # the token may not send batches
        self._now: Callable[[], float] = time.time

    def __len__(self) -> int:
        """The number of increments that wait."""
        return self._store.waiting()

    def __bool__(self) -> bool:
        return True  # an empty queue is one

    def rejected(self) -> list[Rejected]:
        """The increments that the server rejected for ever. They count for max_events until they are forgotten."""
        return self._store.rejected()

    def retry_rejected(self) -> None:
        """Send rejected increments again, in their order, such as after a board was opened."""
        self._store.retry_rejected()

    def forget_rejected(self) -> int:
        """Delete the rejected increments, and return how many there were."""
        return self._store.forget_rejected()

    def _take(self) -> list[Queued]:
        return self._store.next(MAX_BATCH, _BATCH_BYTES, self._now())

    def _split(self, error: ScoreboardError) -> bool:
        """Whether a batch that was refused as a whole is sent one by one: to find the increment that is wrong, or
        because the token may not send batches."""
        if error.temporary or error.status == 401:
            return False
        self._singly = self._singly or error.status == 403
        return True


class OfflineQueue(_Queue):
    """Keeps increments in a file, and sends them when the server can be reached: those of each user in their order, and
    each event id once. An increment is deleted only after it was counted; it is signed when it is sent, and its
    signature is never stored.

    Several threads and processes may use one file, but a process that forks must open it afterwards. The file must be
    on a local disk.

    Args:
        client: Sends the increments.
        path: The file; it is created if it does not exist. SQLite has two more files beside it while it is open.
        max_events: Increments that the file holds at most. If it is full, add raises OverloadedError.
    """

    def __init__(self, client: Scoreboard, path: str | os.PathLike[str], *, max_events: int = 100_000) -> None:
        super().__init__(path, max_events)
        self._client = client

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> "OfflineQueue":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(
        self,
        *,
        user_id: str,
        delta: int,
        event_id: str = "",
        board: str = "",
        boards: Sequence[str] = (),
        action: str = "",
        action_token: str = "",
        attestation: str = "",
        attributes: Mapping[str, str] | None = None,
        if_period: str = "",
        metadata: Mapping[str, Any] | None = None,
        subscore: int | None = None,
    ) -> str:
        """Store an increment and return its event id. An event id that waits already is kept once; with another
        increment it is an EventConflictError. When add returns, the increment survives a crash."""
        increment = Increment(
            user_id,
            delta,
            event_id,
            board,
            boards,
            action,
            action_token,
            attestation,
            attributes or {},
            if_period,
            metadata,
            subscore,
        )
        self._store.add(increment)
        return increment.event_id

    def flush(self) -> Flushed:
        """Send what waits until the queue is empty. Raises the error that ends it early: the server cannot be reached,
        or rejects the token or the key. What was not counted stays in the queue."""
        return self._flush(lambda: False)

    def _flush(self, stopped: Callable[[], bool]) -> Flushed:
        sent = rejected = stuck = 0
        while not stopped() and (queued := self._take()):
            outcome = self._round(queued)
            self._store.settle(outcome.done, outcome.rejected)
            sent, rejected = sent + len(outcome.done), rejected + len(outcome.rejected)
            if outcome.later is None:
                stuck = 0
                continue
            stuck = 0 if outcome.done or outcome.rejected else stuck + 1
            if outcome.last or stuck >= _ROUNDS or self._client._closed.is_set():
                raise outcome.later
            self._client._sleep(_pause(self._client._config.jitter, outcome.later, stuck))
        return Flushed(sent, rejected)

    def run(
        self, stop: threading.Event, *, interval: float = 1, waiting: Callable[[ScoreboardError], None] | None = None
    ) -> None:
        """Send what waits and what is added, until stop is set; look for more every interval seconds. waiting is called
        with each error after which the queue waits. Raises the error if the server rejects the token or the key."""
        failures = 0
        while not stop.is_set():
            try:
                self._flush(stop.is_set)
                failures, pause = 0, interval
            except ScoreboardError as error:
                if error.status == 401:
                    raise
                if waiting is not None:
                    waiting(error)
                pause = max(error.retry_after, self._client._config.jitter(failures, 1, _MAX_WAIT))
                failures += 1
            stop.wait(pause)

    def _round(self, queued: list[Queued]) -> _Round:
        if len(queued) > 1 and not self._singly:
            try:
                results = self._client.submit_batch([each.increment for each in queued])
                return _sort(queued, [result.error for result in results])
            except ScoreboardError as error:
                if not self._split(error):
                    raise
        errors: list[ScoreboardError | None] = []
        for each in queued:
            try:
                self._client._counted(each.increment, None)
                errors.append(None)
            except ScoreboardError as error:
                errors.append(error)
                if error.temporary or error.status == 401:
                    break  # of the server, not of this increment
        outcome = _sort(queued[: len(errors)], errors)
        outcome.last = outcome.later is not None
        return outcome


class AsyncOfflineQueue(_Queue):
    """OfflineQueue for asyncio: the same, with coroutines."""

    def __init__(self, client: AsyncScoreboard, path: str | os.PathLike[str], *, max_events: int = 100_000) -> None:
        super().__init__(path, max_events)
        self._client = client

    async def close(self) -> None:
        await asyncio.to_thread(self._store.close)

    async def __aenter__(self) -> "AsyncOfflineQueue":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def add(
        self,
        *,
        user_id: str,
        delta: int,
        event_id: str = "",
        board: str = "",
        boards: Sequence[str] = (),
        action: str = "",
        action_token: str = "",
        attestation: str = "",
        attributes: Mapping[str, str] | None = None,
        if_period: str = "",
        metadata: Mapping[str, Any] | None = None,
        subscore: int | None = None,
    ) -> str:
        """Store an increment and return its event id; see OfflineQueue.add."""
        increment = Increment(
            user_id,
            delta,
            event_id,
            board,
            boards,
            action,
            action_token,
            attestation,
            attributes or {},
            if_period,
            metadata,
            subscore,
        )
        await asyncio.to_thread(self._store.add, increment)
        return increment.event_id

    async def flush(self) -> Flushed:
        """Send what waits until the queue is empty; see OfflineQueue.flush."""
        sent = rejected = stuck = 0
        while queued := await asyncio.to_thread(self._take):
            outcome = await self._round(queued)
            await asyncio.to_thread(self._store.settle, outcome.done, outcome.rejected)
            sent, rejected = sent + len(outcome.done), rejected + len(outcome.rejected)
            if outcome.later is None:
                stuck = 0
                continue
            stuck = 0 if outcome.done or outcome.rejected else stuck + 1
            if outcome.last or stuck >= _ROUNDS:
                raise outcome.later
            await asyncio.sleep(_pause(self._client._config.jitter, outcome.later, stuck))
        return Flushed(sent, rejected)

    async def run(
        self, *, interval: float = 1, waiting: Callable[[ScoreboardError], Awaitable[None] | None] | None = None
    ) -> None:
        """Send what waits and what is added, until the task is cancelled; see OfflineQueue.run."""
        failures = 0
        while True:
            try:
                await self.flush()
                failures, pause = 0, interval
            except ScoreboardError as error:
                if error.status == 401:
                    raise
                if waiting is not None and (told := waiting(error)) is not None:
                    await told
                pause = max(error.retry_after, self._client._config.jitter(failures, 1, _MAX_WAIT))
                failures += 1
            await asyncio.sleep(pause)

    async def _round(self, queued: list[Queued]) -> _Round:
        if len(queued) > 1 and not self._singly:
            try:
                results = await self._client.submit_batch([each.increment for each in queued])
                return _sort(queued, [result.error for result in results])
            except ScoreboardError as error:
                if not self._split(error):
                    raise
        errors: list[ScoreboardError | None] = []
        for each in queued:
            try:
                await self._client._counted(each.increment, None)
                errors.append(None)
            except ScoreboardError as error:
                errors.append(error)
                if error.temporary or error.status == 401:
                    break  # of the server, not of this increment
        outcome = _sort(queued[: len(errors)], errors)
        outcome.last = outcome.later is not None
        return outcome


def _pause(jitter: Callable[[int, float, float], float], error: ScoreboardError, stuck: int) -> float:
    return max(min(error.retry_after, _MAX_WAIT), jitter(stuck, 0.2, 5))
