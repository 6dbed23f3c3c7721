"""Runs a watch in a thread of its own, for synchronous code."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Literal

from scoreboard._board import State
from scoreboard._config import Config
from scoreboard.aio import from_config


class WatchThread:
    """A watch and its thread. stop ends both; so does the end of the program, because the thread is a daemon."""

    def __init__(self, config: Config, board: str, limit: int, streams: Sequence[Literal["ws", "sse"]]) -> None:
        self._config = config
        self._name, self._limit, self._streams = board, limit, streams
        self._changed = threading.Condition()
        self._state: State | None = None
        self._ended = False
        self._error: Exception | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="scoreboard-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def states(self) -> Iterator[State]:
        """The states until stop; a slow reader gets the latest. Raises the error with which the watch ends."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._state is not None or self._ended)
                state, self._state = self._state, None
            if state is not None:
                yield state
            elif self._error is not None:
                raise self._error
            else:
                return

    def stop(self) -> None:
        """End the watch and wait for its thread, for as long as it needs to close its connection."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            if self._loop is not None and self._task is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        try:
            asyncio.run(self._follow())
        except Exception as error:
            self._error = error
        except asyncio.CancelledError:
            pass
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def _follow(self) -> None:
        with self._changed:
            if self._ended:
                return
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.current_task()
        client = from_config(self._config)
        try:
            async with contextlib.aclosing(
                client.watch(board=self._name, limit=self._limit, streams=self._streams)
            ) as states:
                async for state in states:
                    with self._changed:
                        self._state = state
                        self._changed.notify_all()
        finally:
            await client.close()
