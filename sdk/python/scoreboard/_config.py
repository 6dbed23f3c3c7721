"""The settings of a client, from its arguments or the SBCTL_ variables, checked once."""

import os
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from scoreboard.signing import Key

MAX_RESPONSE = 4 << 20  # bytes; 500 receipts are far smaller
MAX_FRAME = 1 << 20  # bytes of one message of a stream


@dataclass(frozen=True)
class Waits:
    """The client's waits, in seconds, which tests shorten."""

    retry_base: float = 0.2  # between tries of a call
    retry_cap: float = 5
    retry_after_max: float = 30  # a longer Retry-After ends the call
    poll_min: float = 1  # between polls of a watch
    poll_max: float = 3
    poll_for: float = 5  # on polling before streams are tried again, at first
    poll_for_cap: float = 60
    ping: float = 30  # of a WebSocket, by the client; the server has the same
    max_silence: float = 75  # after which a stream counts as dead
    max_reconnect_after: float = 30
    accept_lower: float = 5  # longer than a server shows the epoch before a rebuild


@dataclass
class Config:
    base: httpx.URL
    token: Any = field(repr=False)  # a text, or a function that returns one
    key: Key | None
    signing: Literal["fields", "headers"]
    attempts: int
    try_timeout: float
    user_agent: str
    ssl_context: ssl.SSLContext | None
    waits: Waits = Waits()
    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    transport: httpx.MockTransport | None = None  # of tests

    def jitter(self, n: int, base: float, cap: float) -> float:
        """A random time below base·2^n and cap. Full jitter keeps clients that failed together from retrying
        together."""
        return self.random() * min(base * float(1 << min(n, 20)), cap)

    def http_options(self) -> dict[str, Any]:
        """The options of httpx clients. Redirects are not followed: another server must not get the token."""
        options: dict[str, Any] = {
            "follow_redirects": False,
            "limits": httpx.Limits(max_connections=64, max_keepalive_connections=64),
        }
        if self.ssl_context is not None:
            options["verify"] = self.ssl_context
        if self.transport is not None:
            options["transport"] = self.transport
        return options


def configure(
    server: str | None,
    *,
    token: Any,
    key_id: str | None,
    key_secret: str | None,
    signing: Literal["fields", "headers"],
    attempts: int,
    timeout: float,
    user_agent: str,
    ssl_context: ssl.SSLContext | None,
) -> Config:
    if server is None:
        # Only together: a token of the environment must not reach a server named in code.
        server = os.environ.get("SBCTL_SERVER", "")
        if not server:
            raise ValueError("no server: pass its address, or set SBCTL_SERVER")
        token = os.environ.get("SBCTL_TOKEN") if token is None else token
        if key_id is None and key_secret is None:
            key_id, key_secret = os.environ.get("SBCTL_KEY_ID"), os.environ.get("SBCTL_KEY_SECRET")
    try:
        base = httpx.URL(server)
    except httpx.InvalidURL as error:
        raise ValueError(f"invalid server address {server!r}: {error}") from error
    if base.scheme not in ("http", "https") or not base.host or base.userinfo:
        raise ValueError(f"invalid server address {server!r}: must be of the form http://host:port")
    if bool(key_id) != bool(key_secret):
        raise ValueError("a signing key requires both its id and its secret")
    if signing not in ("fields", "headers"):
        raise ValueError(f"invalid signing {signing!r}: must be 'fields' or 'headers'")
    if attempts < 1 or not timeout > 0:
        raise ValueError("attempts and timeout must be greater than 0")
    return Config(
        base=base.copy_with(query=None, fragment=None),
        token=token or None,
        key=Key(key_id, key_secret) if key_id and key_secret else None,
        signing=signing,
        attempts=attempts,
        try_timeout=timeout,
        user_agent=user_agent,
        ssl_context=ssl_context,
    )
