"""The offline queue: its file, and what it makes of the server's answers."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import virtual

from scoreboard import (
    AsyncOfflineQueue,
    EventConflictError,
    OfflineQueue,
    OverloadedError,
    PayloadTooLargeError,
    Scoreboard,
    ScoreboardError,
    UnauthorizedError,
    UnavailableError,
)


class Server:
    """Counts each event once. fail answers instead, as often as it has answers."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, str]] = []  # user and event id, in the order in which they were counted
        self.fail: list[tuple[int, dict[str, Any]]] = []
        self.reject: dict[str, tuple[int, str]] = {}  # event id: status and code
        self.batches = True
        self.requests: list[dict[str, Any]] = []

    def one(self, item: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        event = item["event_id"]
        if event in self.reject:
            status, code = self.reject[event]
            return status, {"error_code": code, "message": "rejected", "request_id": "r"}
        replayed = (item["user_id"], event) in self.counted
        if not replayed:
            self.counted.append((item["user_id"], event))
        receipt = {
            "user_id": item["user_id"],
            "board": "global",
            "new_score": 1,
            "previous_score": None,
            "rank": 1,
            "version": 1,
            "processed_event_id": event,
            "applied": 1,
            "replayed": replayed,
            "recorded_at": "2026-11-21T12:00:00Z",
            "status": "done",
        }
        return 200, receipt

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        if self.fail:
            status, answer = self.fail.pop(0)
            if not status:
                self.one(body)  # counted, but the answer is lost
                raise httpx.ReadError("connection lost", request=request)
            return httpx.Response(status, json=answer)
        if "items" not in body:
            status, answer = self.one(body)
            return httpx.Response(status, json=answer)
        if not self.batches:
            return httpx.Response(403, json={"error_code": "forbidden", "message": "scope", "request_id": "r"})
        results: list[dict[str, Any]] = []
        for item in body["items"]:
            status, answer = self.one(item)
            results.append({"status": "done", "receipt": answer} if status == 200 else {"status": "x", "error": answer})
        return httpx.Response(200, json={"results": results})


def down(n: int, status: int = 503, code: str = "unavailable") -> list[tuple[int, dict[str, Any]]]:
    return [(status, {"error_code": code, "message": "m", "request_id": "r"})] * n


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Iterator[Scoreboard]:
    with virtual.sync_client(
        virtual.Clock(), httpx.MockTransport(server), key_id="k1", key_secret="sk_secret_of_the_test", attempts=2
    ) as one:
        yield one


def test_increments_are_sent_in_order_once(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    with OfflineQueue(client, tmp_path / "q") as queue:
        for n in range(30):
            assert queue.add(user_id=f"u{n % 3}", delta=n, event_id=f"e{n}") == f"e{n}"
        queue.add(user_id="u0", delta=0, event_id="e0")  # waits already
        assert len(queue) == 30
        assert queue.flush().sent == 30
        assert len(queue) == 0
        assert queue.flush().sent == 0
    for user in ("u0", "u1", "u2"):
        ids = [int(event[1:]) for who, event in server.counted if who == user]
        assert ids == sorted(ids)
    assert len(server.counted) == 30


def test_the_file_survives_a_restart(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    server.fail = down(100)
    with OfflineQueue(client, tmp_path / "q") as queue:
        for n in range(5):
            queue.add(user_id="u", delta=1, event_id=f"e{n}")
        with pytest.raises(UnavailableError):
            queue.flush()
        assert len(queue) == 5
    server.fail = [(0, {})]  # the answer to the first is lost
    with OfflineQueue(client, tmp_path / "q") as queue:
        assert len(queue) == 5
        assert queue.flush().sent == 5
    assert server.counted == [("u", f"e{n}") for n in range(5)]


def test_nothing_signed_is_stored(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    server.fail = down(100)
    queue = OfflineQueue(client, tmp_path / "q")
    queue.add(user_id="u", delta=1, event_id="e0", attestation="x.y.z")
    with pytest.raises(UnavailableError):
        queue.flush()
    signature = server.requests[0]["signature"]
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"x.y.z" in stored
    for text in ("sk_secret_of_the_test", signature, "signature", "timestamp"):
        assert text.encode() not in stored
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    queue.close()


def test_attributes_are_kept(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    with OfflineQueue(client, tmp_path / "q") as queue:
        queue.add(user_id="u", delta=1, event_id="e0", attributes={"region": "eu", "platform": "pc"})
        queue.add(user_id="u", delta=1, event_id="e0", attributes={"platform": "pc", "region": "eu"})  # waits already
        with pytest.raises(EventConflictError):
            queue.add(user_id="u", delta=1, event_id="e0", attributes={"region": "us"})
        with pytest.raises(EventConflictError):
            queue.add(user_id="u", delta=1, event_id="e0")
    with OfflineQueue(client, tmp_path / "q") as queue:
        assert queue.flush().sent == 1
    (request,) = server.requests
    assert request["attributes"] == {"platform": "pc", "region": "eu"}
    assert "signature" not in request  # it is in the headers


def test_the_period_is_kept(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    with OfflineQueue(client, tmp_path / "q") as queue:
        queue.add(user_id="u", delta=1, event_id="e0", board="weekly", if_period="weekly:2026-w47")
    with OfflineQueue(client, tmp_path / "q") as queue:
        assert queue.flush().sent == 1
    (request,) = server.requests
    assert request["if_period"] == "weekly:2026-w47"
    assert "signature" not in request  # it is in the headers


def test_bounds(client: Scoreboard, tmp_path: Path) -> None:
    with OfflineQueue(client, tmp_path / "q", max_events=2) as queue:
        queue.add(user_id="u", delta=1, event_id="e0")
        with pytest.raises(EventConflictError):
            queue.add(user_id="u", delta=2, event_id="e0")
        queue.add(user_id="other", delta=2, event_id="e0")  # another event: ids are per user
        with pytest.raises(OverloadedError, match="full") as full:
            queue.add(user_id="u", delta=1, event_id="e1")
        assert full.value.event_id == "e1"
        with pytest.raises(PayloadTooLargeError):
            queue.add(user_id="u", delta=1, event_id="e2", attestation="x" * 5000)
        with pytest.raises(TypeError):
            queue.add(user_id="u", delta=1.5, event_id="e3")  # type: ignore[arg-type]
        assert queue.flush().sent == 2
        queue.add(user_id="u", delta=1, event_id="e1")


def test_rejected_increments_block_nobody(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    server.reject = {"e1": (409, "board_closed"), "e4": (422, "delta_out_of_range")}
    with OfflineQueue(client, tmp_path / "q") as queue:
        for n in range(6):
            queue.add(user_id=f"u{n % 2}", delta=1, event_id=f"e{n}")
        flushed = queue.flush()
        assert (flushed.sent, flushed.rejected) == (4, 2)
        assert [(r.increment.event_id, r.code) for r in queue.rejected()] == [
            ("e1", "board_closed"),
            ("e4", "delta_out_of_range"),
        ]
        server.reject = {}
        queue.retry_rejected()
        assert queue.flush().sent == 2
        assert queue.rejected() == []
        server.reject = {"bad": (422, "rule_violated")}
        queue.add(user_id="u", delta=1, event_id="bad")
        queue.flush()
        assert queue.forget_rejected() == 1
    assert len(server.counted) == 6


def test_a_later_one_never_passes_an_earlier_one(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    """In a batch, the server may take some increments and reject others for the moment."""
    server.reject = {"e0": (503, "overloaded")}
    with OfflineQueue(client, tmp_path / "q") as queue:
        for n in range(9):
            queue.add(user_id=f"u{n % 3}", delta=1, event_id=f"e{n}")
        with pytest.raises(OverloadedError):
            queue.flush()
        assert len(queue) == 3  # those of u0
        assert not [event for user, event in server.counted if user == "u0"]
        server.reject = {}
        queue.flush()
    assert [event for user, event in server.counted if user == "u0"] == ["e0", "e3", "e6"]


def test_a_token_without_the_scope_sends_singly(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    server.batches = False
    with OfflineQueue(client, tmp_path / "q") as queue:
        for n in range(8):
            queue.add(user_id=f"u{n % 4}", delta=1, event_id=f"e{n}")
        assert queue.flush().sent == 8
    assert sum("items" in request for request in server.requests) == 1


def test_a_wrong_token_rejects_nothing(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    server.fail = down(1, 401, "unauthorized")
    with OfflineQueue(client, tmp_path / "q") as queue:
        queue.add(user_id="u", delta=1)
        with pytest.raises(UnauthorizedError):
            queue.flush()
        assert (len(queue), queue.rejected()) == (1, [])


def test_what_might_count_twice_is_not_sent(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    """The server recognises a repeat for 25 days; the clock may have been set meanwhile."""
    day = 24 * 3600
    for first, second, sent in ((0, 24 * day, 1), (0, 25 * day + 1, 0), (0, -600, 1), (0, -2 * day, 0)):
        path = tmp_path / f"q{second}"
        with OfflineQueue(client, path) as queue:
            queue._now = lambda first=first: 1_795_262_400 + first  # type: ignore[misc]
            queue.add(user_id="u", delta=1, event_id=f"e{second}")
            server.fail = down(2)
            with pytest.raises(UnavailableError):
                queue.flush()
            server.fail = []
            queue._now = lambda second=second: 1_795_262_400 + second  # type: ignore[misc]
            assert queue.flush().sent == sent
            assert [r.code for r in queue.rejected()] == ["gone"] * (1 - sent)
    with OfflineQueue(client, tmp_path / "never-sent") as queue:
        queue.add(user_id="u", delta=1, event_id="fresh")
        queue._now = lambda: 1_795_262_400 + 400 * day
        assert queue.flush().sent == 1


def test_a_full_disk_loses_nothing(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    with OfflineQueue(client, tmp_path / "q") as queue:
        pages = queue._store._db.execute("pragma page_count").fetchone()[0]
        queue._store._db.execute(f"pragma max_page_count = {pages + 5}")
        added = []
        with pytest.raises(UnavailableError, match="full") as full:
            for n in range(1000):
                queue.add(user_id="u", delta=1, event_id=f"e{n}", attestation="x" * 1000)
                added.append(f"e{n}")
        assert full.value.event_id == f"e{len(added)}"
        assert len(queue) == len(added) > 5
        assert queue.flush().sent == len(added)
        queue.add(user_id="u", delta=1, event_id="again")
    assert [event for _, event in server.counted] == added


def test_a_file_that_is_no_queue(client: Scoreboard, tmp_path: Path) -> None:
    path = tmp_path / "q"
    path.write_text("not a database, but longer than the header of one" * 10)
    with pytest.raises(UnavailableError, match="not a database") as wrong:
        OfflineQueue(client, path)
    assert str(path) in str(wrong.value)
    with pytest.raises(UnavailableError, match="No such file"):
        OfflineQueue(client, tmp_path / "absent/q")


ADD = """
import sys
from scoreboard import OfflineQueue, Scoreboard
queue = OfflineQueue(Scoreboard("http://127.0.0.1:1"), sys.argv[1])
for n in range(100000):
    print(queue.add(user_id=sys.argv[2], delta=1, event_id=f"{sys.argv[2]}-{n}"), flush=True)
"""


def test_a_killed_process_keeps_what_it_acknowledged(server: Server, client: Scoreboard, memory: Path) -> None:
    """Two processes add to one file and are killed while they write."""
    path = memory / "q"
    OfflineQueue(client, path).close()
    acknowledged: dict[str, int] = {}
    for turn in range(2):
        users = [f"a{turn}", f"b{turn}"]
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", ADD, str(path), user],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            )
            for user in users
        ]
        for user, process in zip(users, processes, strict=True):
            assert process.stdout is not None
            for _ in range(20):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
            rest = process.stdout.read().splitlines(keepends=True)
            process.wait()
            process.stdout.close()
            acknowledged[user] = 20 + sum(line.endswith(b"\n") for line in rest)
    with OfflineQueue(client, path) as queue:
        queue.flush()
    for user, least in acknowledged.items():
        ids = [event for who, event in server.counted if who == user]
        assert ids == [f"{user}-{n}" for n in range(len(ids))]
        assert least <= len(ids) <= least + 1  # the last may have been stored, but not acknowledged
    assert sqlite3.connect(path).execute("pragma integrity_check").fetchone() == ("ok",)


def test_two_senders_count_once(server: Server, tmp_path: Path) -> None:
    """Two processes may send from one file: each waits for an increment to be settled before it sends the next."""
    lock = threading.Lock()

    def one_at_a_time(request: httpx.Request) -> httpx.Response:
        with lock:
            return server(request)

    def queue() -> OfflineQueue:
        return OfflineQueue(virtual.sync_client(virtual.Clock(), httpx.MockTransport(one_at_a_time)), tmp_path / "q")

    with queue() as first, queue() as second:
        for n in range(300):
            first.add(user_id=f"u{n % 7}", delta=1, event_id=f"e{n}")
        senders = [threading.Thread(target=each.flush) for each in (first, second)]
        for each in senders:
            each.start()
        for each in senders:
            each.join()
        assert len(first) == 0
    assert len(server.counted) == len(set(server.counted)) == 300
    for user in range(7):
        ids = [int(event[1:]) for who, event in server.counted if who == f"u{user}"]
        assert ids == sorted(ids)


def test_run_sends_what_is_added(server: Server, client: Scoreboard, tmp_path: Path) -> None:
    stop = threading.Event()
    waited: list[ScoreboardError] = []
    server.fail = down(2)
    with OfflineQueue(client, tmp_path / "q") as queue:
        running = threading.Thread(
            target=queue.run, args=(stop,), kwargs={"interval": 0.01, "waiting": waited.append}, daemon=True
        )
        queue.add(user_id="u", delta=1, event_id="e0")
        running.start()
        while len(queue):
            pass
        queue.add(user_id="u", delta=1, event_id="e1")
        while len(queue):
            pass
        stop.set()
        running.join(10)
        assert not running.is_alive()
    assert [e.code for e in waited] == ["unavailable"]
    assert len(server.counted) == 2


def test_async_queue(server: Server, tmp_path: Path) -> None:
    server.reject = {"e1": (409, "board_closed")}
    server.fail = down(1)

    async def main() -> None:
        async with (
            virtual_client(server) as client,
            AsyncOfflineQueue(client, tmp_path / "q") as queue,
        ):
            for n in range(10):
                await queue.add(user_id=f"u{n % 2}", delta=1, event_id=f"e{n}")
            flushed = await queue.flush()
            assert (flushed.sent, flushed.rejected, len(queue)) == (9, 1, 0)
            running = asyncio.ensure_future(queue.run(interval=0.01))
            await queue.add(user_id="u0", delta=1, event_id="late")
            while len(queue):
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.wait({running})
            assert running.cancelled()

    asyncio.run(main())
    assert len(server.counted) == 10


def virtual_client(server: Server) -> Any:
    return virtual.async_client(virtual.Clock(), httpx.MockTransport(server))
