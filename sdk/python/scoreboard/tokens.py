"""Tokens that are renewed before they expire."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

# Longer than one try takes, so that no request is sent with a token about to expire.
RENEW_BEFORE = 30  # seconds


class RenewingToken:
    """Caches the token of fetch until shortly before it expires. One fetch runs at a time.

    fetch returns a token and the time (with a time zone) at which it expires. Pass the object as token=.
    """

    def __init__(self, fetch: Callable[[], tuple[str, datetime]]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token = ""
        self._expires = 0.0

    def __call__(self) -> str:
        with self._lock:
            if not self._token or self._expires - time.time() <= RENEW_BEFORE:
                self._token, expires = self._fetch()
                self._expires = expires.timestamp()
            return self._token


class AsyncRenewingToken:
    """RenewingToken for an AsyncScoreboard: fetch is a coroutine function."""

    def __init__(self, fetch: Callable[[], Awaitable[tuple[str, datetime]]]) -> None:
        self._fetch = fetch
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires = 0.0

    async def __call__(self) -> str:
        async with self._lock:
            if not self._token or self._expires - time.time() <= RENEW_BEFORE:
                self._token, expires = await self._fetch()
                self._expires = expires.timestamp()
            return self._token
