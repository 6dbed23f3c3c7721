"""The operations of the API as calls. Both clients send these; nothing here does I/O."""

import dataclasses
import operator
import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from scoreboard._call import Call, body_error
from scoreboard._config import Config
from scoreboard._decode import ShapeError, decode
from scoreboard._types import (
    Action,
    Cohort,
    JoinTicket,
    LeagueHistory,
    LeaguePlace,
    List,
    Participation,
    Place,
    Profile,
    RankExplanation,
    RankHistory,
    Receipt,
    Receipts,
    Reward,
    Rewards,
    Statement,
    Timeline,
    Top,
)
from scoreboard.errors import ScoreboardError, error_of
from scoreboard.signing import field_text

MAX_BATCH = 500  # increments in a batch
MAX_PAGE = 100  # rows of a page
_NO_RECEIPT = "the response contains no receipt"


def new_event_id() -> str:
    """A new event id: a UUID of version 7, which sorts by time and so keeps the server's indexes compact."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value & (1 << 128) - 1))


@dataclass(frozen=True)
class Increment:
    """An increment of a batch or of an offline queue.

    Attributes:
        user_id: The user.
        delta: Points to add; on best and latest boards the submitted score.
        event_id: Makes repeats count once; generated if empty. 1 to 128 of A-Z a-z 0-9 . _ : @ -.
        board: The board; global if empty.
        boards: Up to 10 boards instead: counts on all of them or on none.
        action: What the user did, for boards with rules about it.
        action_token: Of start_action, for boards that require one.
        attestation: Signed by an authoritative game server, for boards that require it.
        attributes: What rules of boards compare, such as region and platform: up to 8 names, each with a value of 1 to
            64 of A-Z a-z 0-9 . _ : @ -. Only without a board. They are signed in the headers.
        if_period: Count only while this is the current period of the board, such as weekly:2026-w47; otherwise it is a
            PeriodEndedError. It is signed in the headers.
        metadata: What the submission says about itself: a JSON object of at most 1 KiB, for boards that keep metadata.
            It is signed in the headers.
        subscore: What decides among equal scores, on boards that have subscores; none counts as 0. It is signed in the
            headers.
    """

    user_id: str
    delta: int
    event_id: str = field(default_factory=new_event_id)
    board: str = ""
    boards: Sequence[str] = ()
    action: str = ""
    action_token: str = ""
    attestation: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    if_period: str = ""
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    subscore: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", operator.index(self.delta))  # also of numpy; 1.5 is a TypeError
        if self.subscore is not None:
            object.__setattr__(self, "subscore", operator.index(self.subscore))
        if not self.event_id:
            object.__setattr__(self, "event_id", new_event_id())
        object.__setattr__(self, "attributes", dict(sorted(self.attributes.items())))

    def body(self) -> dict[str, Any]:
        """The fields of the request, without a time and a signature. Empty ones are left out."""
        out: dict[str, Any] = {"user_id": self.user_id, "delta": self.delta, "event_id": self.event_id}
        for name in ("board", "action", "action_token", "attestation", "if_period"):
            if value := getattr(self, name):
                out[name] = value
        if self.boards:
            out["boards"] = list(self.boards)
        if self.metadata is not None:
            out["metadata"] = dict(self.metadata)
        if self.subscore is not None:
            out["subscore"] = self.subscore
        if self.attributes:
            out["attributes"] = dict(self.attributes)
        return out


@dataclass(frozen=True)
class BatchResult:
    """The outcome of one increment of a batch: its receipts (one for each board, also of those that rules have added),
    or an error."""

    event_id: str
    status: str
    receipts: list[Receipt] = field(default_factory=list)
    error: ScoreboardError | None = None

    @property
    def receipt(self) -> Receipt | None:
        """The receipt on the first board; None if there is an error."""
        return self.receipts[0] if self.receipts else None


@dataclass(frozen=True)
class Event:
    """The state of an event: pending, done with its receipts (one for each board, also of those that rules have added),
    or rejected with an error."""

    id: str
    status: str
    receipts: list[Receipt] = field(default_factory=list)
    error: ScoreboardError | None = None


def submit(config: Config, increment: Increment, respond_async: bool = False) -> Call[Event]:
    # The signature in the body covers neither attributes nor a period, metadata or a subscore.
    in_headers = config.signing == "headers" or bool(increment.attributes) or bool(increment.if_period)
    in_headers = in_headers or increment.metadata is not None or increment.subscore is not None

    def body(now: datetime) -> dict[str, Any]:
        out = increment.body()
        out["timestamp"] = _rfc3339(now)
        if config.key is not None and not in_headers:
            boards = increment.boards or ([increment.board] if increment.board else [])
            text = field_text(
                increment.user_id, increment.delta, increment.event_id, out["timestamp"], boards, increment.action
            )
            out["key_id"] = config.key.id
            out["signature"] = config.key.sign(text)
        return out

    return Call(
        "submit an increment",
        "POST",
        "/v1/scores/increment",
        event_of,
        body=body,
        sign_headers=in_headers,
        respond_async=respond_async,
        event_id=increment.event_id,
    )


def submit_batch(increments: Sequence[Increment]) -> Call[list[BatchResult]]:
    def body(now: datetime) -> dict[str, Any]:
        return {"items": [{**each.body(), "timestamp": _rfc3339(now)} for each in increments]}

    def parse(value: Any) -> list[BatchResult]:
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, list) or len(results) != len(increments):
            count = len(results) if isinstance(results, list) else 0
            raise ShapeError(f"{count} results for {len(increments)} increments")
        return [_batch_result(one, each.event_id) for one, each in zip(results, increments, strict=True)]

    return Call("submit a batch", "POST", "/v1/scores/increments", parse, body=body, sign_headers=True)


def _batch_result(value: Any, event_id: str) -> BatchResult:
    if not isinstance(value, dict):
        raise ShapeError("a result is not an object")
    status = str(value.get("status", ""))
    if value.get("error") is not None:
        error = body_error(value["error"], status=200, op="submit an increment of a batch")
        if error is None:
            raise ShapeError("a result has an error without a code")
        error.event_id = event_id
        return BatchResult(event_id, status, error=error)
    if value.get("receipts"):
        return BatchResult(event_id, status, [decode(Receipt, one) for one in value["receipts"]])
    if value.get("receipt") is not None:
        return BatchResult(event_id, status, _with_matched(decode(Receipt, value["receipt"])))
    op = "submit an increment of a batch"
    return BatchResult(event_id, status, error=error_of("unavailable", _NO_RECEIPT, op=op, event_id=event_id))


def _with_matched(receipt: Receipt) -> list[Receipt]:
    return [receipt, *receipt.matched]


def event_of(value: Any) -> Event:
    """The event of a receipt, of receipts for several boards, or of a look-up."""
    if not isinstance(value, dict) or not isinstance(value.get("processed_event_id"), str):
        raise ShapeError(_NO_RECEIPT)
    event_id = value["processed_event_id"]
    if "receipts" in value:  # of several boards, without a status
        return Event(event_id, "done", decode(Receipts, value).receipts)
    status = str(value.get("status", ""))
    if status == "done":
        return Event(event_id, status, _with_matched(decode(Receipt, value)))
    if status == "rejected":
        error = error_of(
            str(value.get("error_code", "")),
            str(value.get("message", "")),
            op="submit an increment",
            status=200,
            event_id=event_id,
        )
        return Event(event_id, status, error=error)
    return Event(event_id, status)


def receipt(event_id: str, user_id: str) -> Call[Event]:
    query = _query(user_id=user_id)
    return Call(f"look up event {event_id}", "GET", "/v1/events/" + _escape(event_id), event_of, query)


def start_action(user_id: str, fields: Mapping[str, Any]) -> Call[Action]:
    body = {
        "user_id": user_id,
        **{k: list(v) if k == "boards" else v for k, v in fields.items() if v not in ("", None)},
    }
    if not body.get("boards"):
        body.pop("boards", None)
    return Call("start an action", "POST", "/v1/actions", lambda v: decode(Action, v), body=lambda _: body)


def top(board: str, limit: int, cursor: str, tier: str, min_version: int) -> Call[Top]:
    query = _query(board=board, limit=limit, cursor=cursor, tier=tier, min_version=min_version)
    return Call("read the top", "GET", "/v1/leaderboard/top", lambda v: decode(Top, v), query)


def me(board: str, neighbours: int, min_version: int, score: int | None, subscore: int | None) -> Call[Place]:
    return _place("read your standing", "/v1/leaderboard/me", board, neighbours, min_version, score, subscore)


def score(user_id: str, board: str, min_version: int) -> Call[Place]:
    path = f"/v1/users/{_escape(user_id)}/score"
    return _place(f"read the score of {user_id}", path, board, 0, min_version, None, None)


def rank(
    user_id: str, board: str, neighbours: int, min_version: int, score: int | None, subscore: int | None
) -> Call[Place]:
    path = f"/v1/users/{_escape(user_id)}/rank"
    return _place(f"read the rank of {user_id}", path, board, neighbours, min_version, score, subscore)


def _place(
    op: str, path: str, board: str, k: int, min_version: int, score: int | None, subscore: int | None
) -> Call[Place]:
    query = _query(board=board, min_version=min_version)
    query["k"] = str(k)  # even 0, which is not the server's default everywhere
    if score is not None:
        query["score"] = str(score)
    if subscore is not None:
        query["subscore"] = str(subscore)
    return Call(op, "GET", path, lambda v: decode(Place, v), query)


def users(user_ids: Iterable[str], board: str) -> Call[List]:
    body: dict[str, Any] = {"user_ids": list(user_ids)}
    if board:
        body["board"] = board
    op = "read the standings of a list"
    return Call(op, "POST", "/v1/leaderboard/users", lambda v: decode(List, v), body=lambda _: body)


def statement(
    user_id: str, board: str, since: datetime | None, until: datetime | None, cursor: str, limit: int
) -> Call[Statement]:
    query = _query(board=board, cursor=cursor, limit=limit)
    for name, at in (("from", since), ("to", until)):
        if at is not None:
            query[name] = at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    path = f"/v1/users/{_escape(user_id)}/statement"
    return Call(f"read the statement of {user_id}", "GET", path, lambda v: decode(Statement, v), query)


def rank_history(
    user_id: str, board: str, since: datetime | None, until: datetime | None, step: str, as_now: bool
) -> Call[RankHistory]:
    query = _query(board=board, step=step)
    for name, at in (("from", since), ("to", until)):
        if at is not None:
            query[name] = at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if as_now:
        query["as"] = "now"
    path = f"/v1/users/{_escape(user_id)}/history"
    return Call(f"read the rank history of {user_id}", "GET", path, lambda v: decode(RankHistory, v), query)


def timeline(
    board: str, since: datetime | None, until: datetime | None, step: str, limit: int, as_now: bool
) -> Call[Timeline]:
    query = _query(board=board, step=step, limit=limit)
    for name, at in (("from", since), ("to", until)):
        if at is not None:
            query[name] = at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if as_now:
        query["as"] = "now"
    return Call(f"read the past of {board}", "GET", "/v1/leaderboard/timeline", lambda v: decode(Timeline, v), query)


def explain_rank(user_id: str, board: str) -> Call[RankExplanation]:
    path = f"/v1/users/{_escape(user_id)}/rank/explain"
    return Call(
        f"explain the rank of {user_id}", "GET", path, lambda v: decode(RankExplanation, v), _query(board=board)
    )


def profile(user_id: str) -> Call[Profile]:
    path = f"/v1/users/{_escape(user_id)}/profile"
    return Call(f"read the profile of {user_id}", "GET", path, lambda v: decode(Profile, v))


def put_profile(user_id: str, display_name: str, avatar_url: str) -> Call[Profile]:
    path = f"/v1/users/{_escape(user_id)}/profile"
    body = {"display_name": display_name, "avatar_url": avatar_url}
    return Call(f"set the profile of {user_id}", "PUT", path, lambda v: decode(Profile, v), body=lambda _: body)


def rewards(user_id: str, state: str, before: int, limit: int) -> Call[Rewards]:
    query = _query(state=state, before=before, limit=limit)
    return Call("list rewards", "GET", f"/v1/users/{_escape(user_id)}/rewards", lambda v: decode(Rewards, v), query)


def claim(reward_id: int, user_id: str) -> Call[Reward]:
    path = f"/v1/users/{_escape(user_id)}/rewards/{reward_id:d}/claim"
    return Call(f"claim reward {reward_id}", "POST", path, lambda v: decode(Reward, v))


def league(board: str, user_id: str, k: int) -> Call[LeaguePlace]:
    user = "me" if user_id == "me" else f"users/{_escape(user_id)}"
    path = f"/v1/leagues/{_escape(board)}/{user}"
    return Call(f"read a place in league {board}", "GET", path, lambda v: decode(LeaguePlace, v), _query(k=k))


def cohort(board: str, cohort_id: int, after: int, limit: int) -> Call[Cohort]:
    path = f"/v1/leagues/{_escape(board)}/cohorts/{cohort_id:d}"
    query = _query(after=after, limit=limit)
    return Call(f"read a cohort of league {board}", "GET", path, lambda v: decode(Cohort, v), query)


def league_history(user_id: str, league: str, before: int, limit: int) -> Call[LeagueHistory]:
    query = _query(league=league, before=before, limit=limit)
    path = f"/v1/users/{_escape(user_id)}/leagues"
    return Call("list periods in leagues", "GET", path, lambda v: decode(LeagueHistory, v), query)


def participation(op: str, method: str, board: str, user_id: str) -> Call[Participation]:
    path = f"/v1/boards/{_escape(board)}/join"
    return Call(f"{op} board {board}", method, path, lambda v: decode(Participation, v), _query(user_id=user_id))


def realtime_token(board: str) -> Call[JoinTicket]:
    op = "create a join ticket"
    return Call(op, "GET", "/v1/realtime/token", lambda v: decode(JoinTicket, v), _query(board=board))


def _query(**values: str | int) -> dict[str, str]:
    """A query without empty values, which stand for the server's defaults."""
    return {name: str(value) for name, value in values.items() if value}


def _escape(segment: str) -> str:
    """One segment of a path. A user may be called "..", which URL libraries would resolve."""
    return segment.replace(".", "%2E") if segment.strip(".") == "" else quote(segment, safe="")


def _rfc3339(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def receipts_of(event: Event) -> list[Receipt]:
    """The receipts of an event that is done; the error of a rejected or a pending one raised."""
    if event.error is not None:
        raise event.error
    if not event.receipts:
        raise still_pending(event) or error_of("unavailable", _NO_RECEIPT, event_id=event.id)
    return event.receipts


def receipt_of(receipts: Sequence[Receipt]) -> Receipt:
    """The receipt of an increment that named at most one board, with those of the boards that rules have added. The
    look-up of an event lists them by the names of the boards."""
    first = next((r for r in receipts if r.board == "global"), receipts[0])
    return dataclasses.replace(first, matched=[r for r in receipts if r is not first])


def in_order(receipts: Iterable[Receipt], boards: Sequence[str]) -> list[Receipt]:
    """The receipts in the order of the boards. Those of periods have names such as daily:2026-11-21."""
    places = {board: n for n, board in enumerate(boards)}
    return sorted(receipts, key=lambda receipt: places.get(receipt.board.partition(":")[0], len(places)))


def not_counted(error: ScoreboardError, event_id: str) -> ScoreboardError:
    """The error of an increment that the server has queued, after a failed wait for its outcome."""
    if error.status != 404 and not error.temporary:
        error.event_id = event_id
        return error
    return _pending_error("submit an increment", event_id)


def still_pending(event: Event) -> ScoreboardError | None:
    if event.status != "pending":
        return None
    return _pending_error(f"wait for event {event.id}", event.id)


def _pending_error(op: str, event_id: str) -> ScoreboardError:
    message = "the increment is accepted, but not counted yet"
    return error_of("unavailable", message, op=op, status=202, event_id=event_id)


def pauses() -> Iterable[float]:
    """Seconds between look-ups of a pending event: it is counted within milliseconds, or the server has trouble."""
    pause = 0.05
    while True:
        yield pause
        pause = min(pause * 2, 2)
