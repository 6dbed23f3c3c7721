"""Both clients against a real daemon."""

import asyncio
import functools
import json
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from daemon import Daemon

from scoreboard import (
    AsyncOfflineQueue,
    AsyncScoreboard,
    EventConflictError,
    ForbiddenError,
    Increment,
    InvalidRequestError,
    InvalidSignatureError,
    NotFoundError,
    OfflineQueue,
    RenewingToken,
    RuleViolatedError,
    Scoreboard,
    TokenUsedError,
    UnauthorizedError,
    UnavailableError,
    _operations,
)


@pytest.mark.parametrize("signing", ["fields", "headers"])
def test_submit_counts_once(daemon: Daemon, signing: str) -> None:
    with Scoreboard(**daemon.options, signing=signing) as sb:  # type: ignore[arg-type]
        user = f"once-{signing}"
        first = sb.submit(user_id=user, delta=5, event_id="round-1")
        again = sb.submit(user_id=user, delta=5, event_id="round-1")
        assert (first.new_score, first.previous_score, first.replayed) == (5, 0, False)
        assert (again.new_score, again.replayed, again.recorded_at) == (5, True, first.recorded_at)
        assert sb.submit(user_id=user, delta=2).new_score == 7
        with pytest.raises(EventConflictError) as conflict:
            sb.submit(user_id=user, delta=6, event_id="round-1")
        assert conflict.value.status == 409
        assert conflict.value.event_id == "round-1"
        assert conflict.value.next_step.startswith("Use a new event id")


@pytest.mark.parametrize("signing", ["fields", "headers"])
def test_a_wrong_secret_is_rejected(daemon: Daemon, signing: str) -> None:
    options = {**daemon.options, "key_secret": "sk_wrong"}
    with Scoreboard(**options, signing=signing) as sb:  # type: ignore[arg-type]
        with pytest.raises(InvalidSignatureError):
            sb.submit(user_id="forger", delta=5)
        with pytest.raises(InvalidSignatureError):
            sb.submit_batch([Increment("forger", 5)])


def test_boards_and_actions(daemon: Daemon) -> None:
    daemon.sbctl("board", "create", "speed", "--mode", "best", "--order", "lowest", "--min-delta", "0")
    daemon.sbctl("board", "create", "guarded", "--require", "action-token")
    daemon.sbctl("board", "create", "second")
    with Scoreboard(**daemon.options) as sb:
        assert sb.submit(user_id="bo", delta=30, board="speed").new_score == 30
        slower = sb.submit(user_id="bo", delta=40, board="speed", action="lap")
        assert (slower.new_score, slower.applied) == (30, 0)
        both = sb.submit_boards(user_id="bo", delta=4, boards=["second", "global"], action="lap")
        assert [r.board for r in both] == ["second", "global"]
        with pytest.raises(RuleViolatedError):
            sb.submit(user_id="bo", delta=1, board="guarded")
        action = sb.start_action(user_id="bo", board="guarded", action="match", ttl="1m", max_delta=50)
        assert action.expires_at > datetime.now(timezone.utc)
        won = sb.submit(
            user_id="bo", delta=9, board="guarded", action="match", action_token=action.action_token, event_id="e1"
        )
        assert won.new_score == 9
        with pytest.raises(TokenUsedError):
            sb.submit(
                user_id="bo", delta=9, board="guarded", action="match", action_token=action.action_token, event_id="e2"
            )


def test_batch_and_receipts(daemon: Daemon) -> None:
    with Scoreboard(**daemon.options) as sb:
        results = sb.submit_batch([Increment("batch-a", 3, "m-1"), Increment("batch-b", 0, "m-2")])
        assert results[0].receipt is not None
        assert results[0].receipt.new_score == 3
        assert results[1].error is not None
        assert (results[1].error.code, results[1].error.event_id) == ("invalid_request", "m-2")
        event = sb.receipt("m-1", user_id="batch-a")
        assert (event.status, event.receipts[0].new_score) == ("done", 3)
        with pytest.raises(NotFoundError):
            sb.receipt("never", user_id="batch-a")


def test_attributes_reach_boards_by_their_rules(daemon: Daemon) -> None:
    daemon.sbctl("board", "create", "ruled")
    daemon.sbctl("board", "rules", "set", "ruled", "--region", "eu")
    both = {"region": "eu", "platform": "pc"}
    with Scoreboard(**daemon.options) as sb:
        first = sb.submit(user_id="rosa", delta=5, event_id="rules-1", attributes=both)
        assert (first.board, first.new_score, first.replayed) == ("global", 5, False)
        assert [(r.board, r.new_score, r.replayed) for r in first.matched] == [("ruled", 5, False)]
        again = sb.submit(user_id="rosa", delta=5, event_id="rules-1", attributes={"platform": "pc", "region": "eu"})
        assert [r.replayed for r in (again, *again.matched)] == [True, True]
        with pytest.raises(EventConflictError) as conflict:
            sb.submit(user_id="rosa", delta=5, event_id="rules-1", attributes={"region": "us"})
        assert (conflict.value.status, conflict.value.event_id) == (409, "rules-1")
        assert sb.submit(user_id="rosa", delta=1, attributes={"region": "us"}).matched == []
        with pytest.raises(InvalidRequestError) as many:
            sb.submit(user_id="rosa", delta=1, attributes=dict.fromkeys("abcdefghi", "x"))
        assert many.value.field == "attributes"

        matching = Increment("rosa", 5, "rules-2", attributes=both)
        one, two = sb.submit_batch([matching, Increment("rosa", 1)])
        assert [r.board for r in one.receipts] == ["global", "ruled"]
        assert one.receipt is not None
        assert [(r.board, r.new_score) for r in one.receipt.matched] == [("ruled", 10)]
        assert [r.board for r in two.receipts] == ["global"]
        known = sb.submit_async(matching)
        assert (known.status, [r.board for r in known.receipts]) == ("done", ["global", "ruled"])
        later = sb.submit_async(Increment("rosa", 5, "rules-3", attributes=both))
        event = sb.wait_for_event(later.id, user_id="rosa")
        assert [r.board for r in event.receipts] == ["global", "ruled"]
    options = {**daemon.options, "key_secret": "sk_wrong"}
    with Scoreboard(**options) as sb, pytest.raises(InvalidSignatureError):
        sb.submit(user_id="rosa", delta=5, attributes=both)

    async def main() -> None:
        async with AsyncScoreboard(**daemon.options) as sb:  # type: ignore[arg-type]
            receipt = await sb.submit(user_id="rosa-aio", delta=5, attributes=both)
            assert [(r.board, r.new_score) for r in receipt.matched] == [("ruled", 5)]

    asyncio.run(main())


def test_queues_send_attributes(daemon: Daemon, tmp_path: Path) -> None:
    daemon.sbctl("board", "create", "ruled-later")
    daemon.sbctl("board", "rules", "set", "ruled-later", "--attribute", "platform=later")
    later = {"platform": "later"}
    with Scoreboard(**daemon.options) as sb, OfflineQueue(sb, tmp_path / "q") as queue:
        queue.add(user_id="queued-a", delta=2, attributes=later)
        assert queue.flush().sent == 1  # alone
        queue.add(user_id="queued-a", delta=3, attributes=later)
        queue.add(user_id="queued-b", delta=7, attributes=later)
        queue.add(user_id="queued-c", delta=9, attributes={"platform": "now"})
        assert queue.flush().sent == 3  # in a batch

    async def main() -> None:
        async with (
            AsyncScoreboard(**daemon.options) as sb,  # type: ignore[arg-type]
            AsyncOfflineQueue(sb, tmp_path / "aio") as queue,
        ):
            await queue.add(user_id="queued-d", delta=4, attributes=later)
            assert (await queue.flush()).sent == 1

    asyncio.run(main())
    with Scoreboard(**daemon.options) as sb:
        sb.score("queued-a", board="ruled-later", min_version=2)
        for user in ("queued-b", "queued-d"):
            sb.score(user, board="ruled-later", min_version=1)
        rows = {row.user_id: row.score for row in sb.top(board="ruled-later").entries}
        assert rows == {"queued-a": 5, "queued-b": 7, "queued-d": 4}


def test_async_event_is_waited_for(daemon: Daemon) -> None:
    with Scoreboard(**daemon.options) as sb:
        events = [sb.submit_async(Increment("later", 2, f"later-{n}")) for n in range(20)]
        assert {e.status for e in events} <= {"pending", "done"}
        done = [sb.wait_for_event(e.id, user_id="later") for e in events]
        assert max(e.receipts[0].new_score for e in done) == 40
        began = time.monotonic()
        with pytest.raises(NotFoundError):
            sb.wait_for_event("never", user_id="later", timeout=2)
        assert time.monotonic() - began < 10


def test_submit_waits_for_queued(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts are in the order of the boards, also if the server has queued the increment."""
    daemon.sbctl("board", "create", "zeta")
    daemon.sbctl("board", "create", "alpha", "--period", "daily")
    daemon.sbctl("board", "create", "ruled-queued")
    daemon.sbctl("board", "rules", "set", "ruled-queued", "--region", "queued")
    monkeypatch.setattr(_operations, "submit", functools.partial(_operations.submit, respond_async=True))
    boards = ["zeta", "alpha", "global"]
    region = {"region": "queued"}
    statuses: list[int] = []
    with Scoreboard(**daemon.options) as sb:
        sb._http.event_hooks["response"].append(lambda response: statuses.append(response.status_code))
        receipts = sb.submit_boards(user_id="queued-1", delta=5, boards=boards)
        assert [(r.board.partition(":")[0], r.new_score) for r in receipts] == [(board, 5) for board in boards]
        r = sb.submit(user_id="queued-2", delta=5, attributes=region)
        assert [(m.board, m.new_score) for m in (r, *r.matched)] == [("global", 5), ("ruled-queued", 5)]
    assert statuses.count(202) == 2

    async def main() -> None:
        async with AsyncScoreboard(**daemon.options) as sb:  # type: ignore[arg-type]
            receipts = await sb.submit_boards(user_id="queued-3", delta=5, boards=boards)
            assert [r.board.partition(":")[0] for r in receipts] == boards
            r = await sb.submit(user_id="queued-4", delta=5, attributes=region)
            assert [m.board for m in (r, *r.matched)] == ["global", "ruled-queued"]

    asyncio.run(main())


def test_reads_and_iterators(daemon: Daemon) -> None:
    daemon.sbctl("board", "create", "reading")
    with Scoreboard(**daemon.options) as sb:
        sb.submit_batch([Increment(f"u{n:03}", 1 + n, board="reading") for n in range(25)])
        for n in range(3):
            sb.submit(user_id="u024", delta=10 + n, board="reading")
        assert sb.rank("u024", board="reading", min_version=4).rank == 1
        rows = list(sb.entries(board="reading", page_size=10))
        assert [r.rank for r in rows] == list(range(1, 26))
        assert sb.top(board="reading", limit=3).entries == rows[:3]
        assert sb.score("u000", board="reading").score == 1
        around = sb.rank("u010", board="reading", neighbours=2)
        assert [e.user_id for e in around.neighbours] == ["u012", "u011", "u010", "u009", "u008"]
        found = sb.users(["u003", "nobody"], board="reading")
        assert [e.user_id for e in found.entries] == ["u003"]
        assert found.not_found == ["nobody"]
        with pytest.raises(NotFoundError) as absent:
            sb.rank("nobody", board="reading", score=1000)
        assert absent.value.would_rank == 1
        why = sb.explain_rank("u010", board="reading")
        assert (why.rank, why.sources.submitted, why.above.user_id) == (15, 11, "u011")
        reached = sb.score("u024", board="reading").updated_at  # after all others
        history = sb.rank_history("u010", board="reading", since=reached, until=reached, step="1s")
        assert [p.score for p in history.points] == [11]
        timeline = sb.timeline(board="reading", since=reached, until=reached, limit=3)
        assert [e.user_id for e in timeline.frames[0].entries] == ["u024", "u023", "u022"]
        assert (timeline.ends_at, timeline.next_from) == (reached, None)
        ledger = list(sb.statement_entries("u024", board="reading"))
        assert [e.version for e in ledger] == [4, 3, 2, 1]
        assert sb.statement("u024", limit=1).next_cursor
        late = datetime.now(timezone.utc) + timedelta(minutes=5)
        assert list(sb.statement_entries("u024", since=late)) == []


def test_own_token(daemon: Daemon) -> None:
    options = {**daemon.options, "token": daemon.token("ana")}
    with Scoreboard(**options) as sb:
        sb.submit(user_id="ana", delta=5, event_id="own-1")
        assert sb.me(neighbours=1).user_id == "ana"
        assert sb.receipt("own-1").id == "own-1"
        assert sb.put_profile("ana", display_name="Zoë").display_name == "Zoë"
        assert sb.profile("ana").user_id == "ana"
        assert len(sb.realtime_token().token) > 8
        with pytest.raises(ForbiddenError) as wrong:
            sb.submit(user_id="bob", delta=5)
        assert not wrong.value.temporary


def test_a_user_with_dots(daemon: Daemon) -> None:
    """URL libraries resolve ".." in a path; it is a valid user."""
    with Scoreboard(**daemon.options) as sb:
        for user in ("..", ".", "a.b", "x@y:z"):
            sb.submit(user_id=user, delta=5)
            assert sb.score(user, min_version=1).user_id == user


def test_environment(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SBCTL_SERVER", "SBCTL_TOKEN", "SBCTL_KEY_ID", "SBCTL_KEY_SECRET"):
        monkeypatch.setenv(name, daemon.env[name])
    with Scoreboard() as sb:
        assert sb.submit(user_id="env", delta=5).new_score == 5
    with Scoreboard(daemon.env["SBCTL_SERVER"]) as sb, pytest.raises(UnauthorizedError):
        sb.submit(user_id="env", delta=5)  # a server named in code gets no token of the environment
    monkeypatch.delenv("SBCTL_SERVER")
    with pytest.raises(ValueError, match="SBCTL_SERVER"):
        Scoreboard()


def test_expired_token_is_renewed(daemon: Daemon) -> None:
    """The server rejects the first token after it has expired; the client has fetched another one by then."""
    fetched = []

    def fetch() -> tuple[str, datetime]:
        ttl = 31 if not fetched else 900
        fetched.append(ttl)
        return daemon.token("renewed", f"{ttl}s"), datetime.now(timezone.utc) + timedelta(seconds=ttl)

    options = {**daemon.options, "token": RenewingToken(fetch)}
    with Scoreboard(**options) as sb:  # type: ignore[arg-type]
        sb.submit(user_id="renewed", delta=5)
        assert len(fetched) == 1
        time.sleep(1.1)  # until the token is too close to its end
        assert sb.submit(user_id="renewed", delta=5).new_score == 10
        assert fetched == [31, 900]

    def fail() -> tuple[str, datetime]:
        raise OSError("the issuer is away")

    options["token"] = RenewingToken(fail)
    with Scoreboard(**options, attempts=2) as sb, pytest.raises(UnavailableError, match="issuer") as failed:  # type: ignore[arg-type]
        sb.submit(user_id="renewed", delta=5, event_id="kept")
    assert (failed.value.attempts, failed.value.event_id) == (2, "kept")


def test_asyncio(daemon: Daemon) -> None:
    async def main() -> None:
        async with AsyncScoreboard(**daemon.options) as sb:  # type: ignore[arg-type]
            receipts = await asyncio.gather(*(sb.submit(user_id="aio", delta=1) for _ in range(50)))
            assert max(r.new_score for r in receipts) == 50
            event = await sb.submit_async(Increment("aio", 1))
            await sb.wait_for_event(event.id, user_id="aio")
            assert (await sb.score("aio", min_version=51)).score == 51
            rows = [e async for e in sb.entries(page_size=100)]
            assert "aio" in [e.user_id for e in rows]
            assert len([e async for e in sb.statement_entries("aio")]) == 51
            call = asyncio.create_task(sb.top())
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            json.dumps((await sb.top()).board)

    asyncio.run(main())
