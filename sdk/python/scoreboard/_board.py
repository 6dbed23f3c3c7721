"""What a watch shows, without I/O: applies the messages of a stream by the rules of docs/protocol.md."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal

from scoreboard._call import status_of
from scoreboard._config import Config
from scoreboard._types import Entry, Message, Top
from scoreboard.errors import error_of

Connection = Literal["ws", "sse", "polling", "disconnected"]


@dataclass(frozen=True)
class Move:
    """A change of the user's own score or rank. Ranks are 0 if unknown."""

    user_id: str
    score: int
    rank: int
    previous_rank: int
    subscore: int | None = None


@dataclass(frozen=True)
class TierMove:
    """A move of the user to another tier of the board. Tiers are empty for none."""

    user_id: str
    tier: str
    previous_tier: str


@dataclass(frozen=True)
class State:
    """The latest state of a board. While disconnected, top keeps the last rows; heard_at shows how old they may be.

    Attributes:
        board: For a periodic board, the current period.
        top: The rows, best first.
        version: Version of the rows within the epoch.
        epoch: Number of the ranking.
        updated_at: The server's time of these rows.
        heard_at: When the server last confirmed these rows, by a message or a poll, on this machine's clock.
        connection: How the rows come: by "ws", "sse" or "polling", or "disconnected".
        reconnects: How often the connection was lost and came back.
        degraded: Why the rows are not from a healthy ranking; empty if they are.
        me: The latest change of the token's user; None before the first.
        tier: The latest change of that user's tier, on a board with tiers; None before the first.
        error: Why the watch is disconnected, or why it polls instead of following a stream.
    """

    board: str
    top: list[Entry] = field(default_factory=list)
    version: int = 0
    epoch: int = 0
    updated_at: datetime | None = None
    heard_at: datetime | None = None
    connection: Connection = "disconnected"
    reconnects: int = 0
    degraded: str = ""
    me: Move | None = None
    tier: TierMove | None = None
    error: Exception | None = None


class StreamClosing(Exception):
    """The server announced that it closes the stream."""


class Resync(Exception):
    """A delta does not fit the rows: the stream must start again with a whole state."""


@dataclass(frozen=True)
class _Rows:
    """Rows and what they are."""

    epoch: int
    version: int
    board: str
    top: list[Entry]
    updated_at: datetime | None
    degraded: str


def _degraded(rows: Message | Top) -> str:
    """Why rows are not from a healthy ranking, or may lack changes; empty if neither."""
    if rows.degraded:
        return rows.degraded_reason or "unknown"
    state = rows.board_state or "HEALTHY"
    return "" if state == "HEALTHY" else state.lower()


class Board:
    """Follows one board. publish is called after each message, also if only heard_at has changed."""

    def __init__(self, config: Config, board: str, publish: Callable[[State], None]) -> None:
        self.state = State(board)
        self.reconnect_after = 0.0  # seconds that the server asked for
        self._config = config
        self._publish = publish
        self._connected_before = False
        self._stale = False  # the next state must be whole
        self._lower: _Rows | None = None  # the latest of the states with a lower epoch than the one shown
        self._lower_since = 0.0
        self._moved = self._tiered = (0, 0)  # epoch and version of the messages that me and tier are from

    def resume(self) -> str:
        """What the stream connects with as last_event_id; empty for none."""
        if not self.state.epoch or self.state.degraded or self._stale:
            return ""
        return f"{self.state.epoch}:{self.state.version}"

    def frame(self, kind: Connection, f: Message) -> None:
        """Apply a message. Raises StreamClosing, Resync, or the ScoreboardError that the server sent."""
        if f.type == "leaderboard.updated":
            self._heard(kind)
            self._apply(self._rows(f, f.top))
        elif f.type == "leaderboard.delta":
            self._heard(kind)
            self._delta(f)
        elif f.type == "user.rank.updated":
            self._heard(kind)
            self._own_change(f)
        elif f.type == "user.tier.updated":
            self._heard(kind)
            self._tier_change(f)
        elif f.type == "error":  # about the stream itself: this client sends no commands
            code = f.error_code or "internal"
            raise error_of(code, f.message or "", op="read the stream", status=status_of(code))
        elif f.type == "bye":
            waits = self._config.waits
            # Wait at least a moment, even if the server did not ask for a delay.
            asked = max((f.reconnect_after_ms or 0) / 1000, waits.retry_base)
            self.reconnect_after = min(asked, waits.max_reconnect_after)
            raise StreamClosing(f"the server is closing the connection: {f.reason or ''}")

    def heartbeat(self, kind: Connection) -> None:
        """A message other than a frame: the rows are still current."""
        self._heard(kind)
        if self._lower is not None:
            self._apply(self._lower)  # still the server's
        else:
            self._publish(self.state)

    def polled(self, top: Top, stream_error: Exception | None) -> None:
        """Apply a poll. stream_error is why there is no stream."""
        self._heard("polling")
        self._change(error=stream_error)
        degraded = _degraded(top)
        if top.version is None or top.epoch is None:  # degraded: PostgreSQL has no version
            self._change(board=top.board, top=top.entries, updated_at=top.updated_at, degraded=degraded)
            self._publish(self.state)
            return
        self._apply(_Rows(top.epoch, top.version, top.board, top.entries, top.updated_at, degraded))

    def disconnected(self, error: Exception | None) -> None:
        self._change(connection="disconnected", error=error)
        self._publish(self.state)

    def _rows(self, f: Message, top: list[Entry]) -> _Rows:
        return _Rows(f.epoch or 0, f.version or 0, f.board or self.state.board, top, f.ts, _degraded(f))

    def _delta(self, f: Message) -> None:
        epoch, version = f.epoch or 0, f.version or 0
        have: _Rows | None = self._shown()
        if have is not None and epoch < have.epoch:
            have = self._lower  # what the server has said since it came back with other data
            if have is None:
                self._publish(self.state)
                return
        if have is not None and not self._stale and epoch == have.epoch:
            if version < have.version or (version == have.version and not have.degraded):
                self._publish(self.state)
                return
            if not have.degraded and f.base == have.version:
                self._apply(self._rows(f, merge(have.top, f.changed, f.removed)))
                return
        self._stale = True
        raise Resync("a delta of other rows")

    def _shown(self) -> _Rows | None:
        s = self.state
        return _Rows(s.epoch, s.version, s.board, s.top, s.updated_at, s.degraded) if s.epoch else None

    def _apply(self, rows: _Rows) -> None:
        """Show new rows unless they are older than those shown."""
        s = self.state
        if rows.epoch < s.epoch and not self._accepts_lower(rows):
            self._publish(self.state)  # heard_at has changed
            return
        if rows.epoch == s.epoch and rows.version < s.version:
            self._publish(self.state)
            return
        self._lower = None  # also by the rows shown, from another node
        self._stale = False
        self._change(
            epoch=rows.epoch,
            version=rows.version,
            board=rows.board,
            top=rows.top,
            updated_at=rows.updated_at,
            degraded=rows.degraded,
        )
        self._publish(self.state)

    def _accepts_lower(self, rows: _Rows) -> bool:
        """Whether rows of a lower epoch replace those shown: nothing else has arrived for a while."""
        now = self._config.monotonic()
        if self._lower is None:
            self._lower_since = now
        self._lower = rows
        if now - self._lower_since < self._config.waits.accept_lower:
            return False
        self._moved = self._tiered = (0, 0)  # any change from now on is newer
        return True

    def _own_change(self, f: Message) -> None:
        if not _older(f, self._moved):
            self._moved = (f.epoch or 0, f.version or 0)
            self._change(me=Move(f.user_id or "", f.score or 0, f.rank or 0, f.previous_rank or 0, f.subscore))
        self._publish(self.state)

    def _tier_change(self, f: Message) -> None:
        if not _older(f, self._tiered):
            self._tiered = (f.epoch or 0, f.version or 0)
            self._change(tier=TierMove(f.user_id or "", f.tier or "", f.previous_tier or ""))
        self._publish(self.state)

    def _heard(self, kind: Connection) -> None:
        reconnects = self.state.reconnects
        if self.state.connection == "disconnected" and self._connected_before:
            reconnects += 1
        self._connected_before = True
        now = datetime.fromtimestamp(self._config.now(), timezone.utc)
        self._change(connection=kind, error=None, heard_at=now, reconnects=reconnects)

    def _change(self, **values: object) -> None:
        self.state = dataclasses.replace(self.state, **values)  # type: ignore[arg-type]  # of the fields of State


def _older(f: Message, than: tuple[int, int]) -> bool:
    """Whether a message about the user is older than one with this epoch and version."""
    return (f.version or 0) < than[1] and (f.epoch or 0) <= than[0]


def merge(rows: Sequence[Entry], changed: Sequence[Entry], removed: Sequence[str]) -> list[Entry]:
    """The rows after a delta."""
    gone = set(removed) | {entry.user_id for entry in changed}
    kept = [entry for entry in rows if entry.user_id not in gone]
    return sorted([*kept, *changed], key=lambda entry: entry.rank)
