"""The file of an offline queue: an SQLite database, which survives a killed process and is shared by several."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scoreboard._operations import Increment
from scoreboard.errors import ScoreboardError, error_of, unavailable

MAX_INCREMENT = 4096  # bytes, as of a request

# The server recognises a repeat for at least 25 days (ledger.window). What was first sent longer ago, or at a time that
# the clock now calls the future, might count twice.
MAX_AGE = 25 * 24 * 3600
MAX_CLOCK_STEP = 3600

_SCHEMA = """
create table if not exists events (
    seq          integer primary key autoincrement,
    user_id      text not null,
    event_id     text not null,
    body         text not null,
    first_sent   integer,
    error_code   text,
    message      text,
    constraint events_once unique (user_id, event_id)
);
create index if not exists events_waiting on events (seq, user_id) where error_code is null;
create table if not exists total (one integer primary key check (one = 1), events integer not null);
insert or ignore into total values (1, 0);
"""


@dataclass(frozen=True)
class Queued:
    """An increment in the queue, by its position."""

    seq: int
    increment: Increment


@dataclass(frozen=True)
class Rejected:
    """An increment that will not be counted, and why."""

    increment: Increment
    code: str
    message: str


class Store:
    """Methods may be called from several threads, and several processes may use one file. Each is one transaction."""

    def __init__(self, path: str | os.PathLike[str], max_events: int) -> None:
        self._path = Path(path)
        self._max = max_events
        self._lock = threading.Lock()
        with self._errors("open"):
            # Attestations and action tokens are not for other users of the machine. SQLite's other files follow.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")  # an acknowledged increment survives a power failure
            self._db.executescript("begin immediate;" + _SCHEMA + "commit;")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def add(self, increment: Increment) -> None:
        """Store an increment; one that waits already is kept once."""
        body = json.dumps(increment.body())
        if len(body) > MAX_INCREMENT:
            raise _refused("payload_too_large", f"the increment is over {MAX_INCREMENT} bytes", increment)
        with self._transaction("add to", increment.event_id) as db:
            known = db.execute(
                "select body from events where user_id = ? and event_id = ?", (increment.user_id, increment.event_id)
            ).fetchone()
            if known is not None:
                if known[0] != body:
                    raise _refused("event_conflict", "the event id waits with another increment", increment)
                return
            counted = db.execute("update total set events = events + 1 where events < ?", (self._max,))
            if counted.rowcount == 0:
                raise _refused("overloaded", f"the queue is full: {self._max} increments", increment)
            db.execute(
                "insert into events (user_id, event_id, body) values (?, ?, ?)",
                (increment.user_id, increment.event_id, body),
            )

    def waiting(self) -> int:
        with self._transaction("read") as db:
            row = db.execute("select count(*) from events where error_code is null").fetchone()
        return int(row[0])

    def next(self, limit: int, max_bytes: int, now: float) -> list[Queued]:
        """Take the first increment of each user among the first that wait, in order, and note that they are sent now.
        A user's next one waits until the one before is settled, so that the order of each user is kept."""
        chosen: dict[str, Queued] = {}
        size = 0
        with self._transaction("read") as db:
            while not chosen:
                rows = db.execute(
                    "select seq, user_id, body, first_sent from events where error_code is null order by seq limit ?",
                    (limit,),
                ).fetchall()
                if not rows:
                    break
                for seq, user_id, body, first_sent in rows:
                    if user_id in chosen:
                        continue
                    if first_sent is not None and not -MAX_CLOCK_STEP <= now - first_sent <= MAX_AGE:
                        message = "first sent so long ago that the server might count it again"
                        db.execute("update events set error_code = 'gone', message = ? where seq = ?", (message, seq))
                        continue
                    size += len(body)
                    if chosen and size > max_bytes:
                        break
                    chosen[user_id] = Queued(seq, Increment(**json.loads(body)))
                    if first_sent is None:
                        db.execute("update events set first_sent = ? where seq = ?", (int(now), seq))
        return list(chosen.values())

    def settle(self, done: Sequence[Queued], rejected: Sequence[tuple[Queued, ScoreboardError]]) -> None:
        """Delete what was counted, and keep what was rejected with its error."""
        with self._transaction("update") as db:
            for each in done:
                gone = db.execute("delete from events where seq = ?", (each.seq,))
                db.execute("update total set events = events - ?", (gone.rowcount,))
            for each, error in rejected:
                db.execute(
                    "update events set error_code = ?, message = ? where seq = ?",
                    (error.code, error.message[:200], each.seq),
                )

    def rejected(self) -> list[Rejected]:
        with self._transaction("read") as db:
            rows = db.execute(
                "select body, error_code, message from events where error_code is not null order by seq"
            ).fetchall()
        return [Rejected(Increment(**json.loads(body)), code, message) for body, code, message in rows]

    def retry_rejected(self) -> None:
        with self._transaction("update") as db:
            db.execute("update events set error_code = null, message = null where error_code is not null")

    def forget_rejected(self) -> int:
        with self._transaction("update") as db:
            gone = db.execute("delete from events where error_code is not null").rowcount
            db.execute("update total set events = events - ?", (gone,))
        return gone

    @contextmanager
    def _transaction(self, doing: str, event_id: str = "") -> Iterator[sqlite3.Connection]:
        with self._lock, self._errors(doing, event_id):
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:  # SQLite has ended it itself if the disk is full
                    self._db.execute("rollback")
                raise

    @contextmanager
    def _errors(self, doing: str, event_id: str = "") -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            op = f"{doing} the queue {self._path}"
            raise unavailable(str(error), error, op=op, event_id=event_id) from error


def _refused(code: str, message: str, increment: Increment) -> ScoreboardError:
    return error_of(code, message, op="queue an increment", event_id=increment.event_id)
