"""The client through faults of a real daemon and the network: nothing twice, nothing lost, order kept."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon import Daemon, free_port
from proxy import Proxy

from scoreboard import InvalidSignatureError, OfflineQueue, Scoreboard, UnavailableError


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that keeps its data, with a Redis that the tests flush."""
    folder = tmp_path_factory.mktemp("faults")
    port = free_port()
    redis = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    one = Daemon(folder, ephemeral=False, settings={"SCOREBOARD_REDIS_URL": f"redis://127.0.0.1:{port}"})
    one.redis_port = port
    try:
        one.start()
        yield one
        one.stop()
    finally:
        redis.kill()
        redis.wait()


@pytest.fixture
def proxy(own: Daemon) -> Iterator[Proxy]:
    one = Proxy(own.port)
    yield one
    one.close()


def ledger(sb: Scoreboard, user: str) -> list[str]:
    """The event ids of a user, in the order in which they were counted."""
    return [entry.event_id for entry in sb.statement_entries(user)][::-1]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "drained"])
def test_stopped_server(own: Daemon, tmp_path: Path, how: signal.Signals) -> None:
    """The daemon is killed, or drains its connections, while two threads submit and another one watches."""
    user = f"stopped-{how.name}"
    with Scoreboard(**own.options, attempts=3) as sb, OfflineQueue(sb, tmp_path / "q") as queue:
        sb.submit(user_id="watched", delta=1000)
        states = sb.watch()
        for state in states:
            if state.top:
                break
        stop = threading.Event()
        sending = threading.Thread(target=queue.run, args=(stop,), kwargs={"interval": 0.05})
        sending.start()
        added = 0
        for turn in range(2):
            for _ in range(100):
                queue.add(user_id=user, delta=1, event_id=f"k{added}")
                added += 1
                time.sleep(0.002)
            own.stop(how)
            for _ in range(50):
                queue.add(user_id=user, delta=1, event_id=f"k{added}")
                added += 1
            own.start()
            sb.submit(user_id="watched", delta=1, event_id=f"after-{turn}", timeout=60)
        end = time.monotonic() + 60
        while len(queue):
            assert time.monotonic() < end
            time.sleep(0.1)
        stop.set()
        sending.join(30)
        assert queue.rejected() == []
        assert sb.score(user, min_version=added).score == added == 300
        assert ledger(sb, user) == [f"k{n}" for n in range(added)]
        for state in states:
            if state.connection == "ws" and [e.score for e in state.top if e.user_id == user] == [added]:
                break
            assert time.monotonic() < end + 60
        assert state.reconnects >= 1
        states.close()


@pytest.mark.parametrize("hours", [-1, 1])
def test_wrong_clock(own: Daemon, tmp_path: Path, hours: int) -> None:
    """A clock that is wrong by an hour: an increment waits in the queue until it is right."""
    wrong_by = hours * 3600

    def now() -> float:
        return time.time() + wrong_by

    with Scoreboard(**own.options) as sb, OfflineQueue(sb, tmp_path / "q") as queue:
        sb._config.now = queue._now = now
        queue.add(user_id=f"clock{hours}", delta=7)
        with pytest.raises(InvalidSignatureError):
            queue.flush()
        assert (len(queue), queue.rejected()) == (1, [])
        wrong_by = 0
        assert queue.flush().sent == 1
        assert [entry.delta for entry in sb.statement_entries(f"clock{hours}")] == [7]


KILLED = """
import os, signal, sys
from scoreboard import OfflineQueue, Scoreboard
from scoreboard._store import Store

left = int(sys.argv[3])

def step():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def with_steps(owner, name):
    call = getattr(owner, name)
    def stepped(*args, **kwargs):
        step()
        result = call(*args, **kwargs)
        step()
        return result
    setattr(owner, name, stepped)

for owner, name in (Store, "add"), (Store, "next"), (Store, "settle"), (Scoreboard, "_counted"):
    with_steps(owner, name)
with OfflineQueue(Scoreboard(), sys.argv[1]) as queue:
    for n in (1, 2):
        queue.add(user_id=sys.argv[2], delta=n, event_id=f"e{n}")
    queue.flush()
"""


def test_a_queue_is_killed_at_each_step(own: Daemon, tmp_path: Path) -> None:
    """The process is killed before and after each step of storing, sending and deleting. Started again, it loses
    nothing, counts nothing twice, and keeps the order."""

    def run(user: str, step: int) -> int:
        arguments = [sys.executable, "-c", KILLED, str(tmp_path / user), user, str(step)]
        paths = {"PYTHONPATH": str(Path(__file__).parents[1])}
        return subprocess.run(arguments, env={**os.environ, **own.env, **paths}, timeout=60).returncode

    with Scoreboard(**own.options) as sb:
        for step in itertools.count(1):
            user = f"step-{step}"
            killed = run(user, step)
            assert killed in (0, -signal.SIGKILL)
            assert run(user, 0) == 0
            assert [entry.delta for entry in sb.statement_entries(user)] == [2, 1], user
            if killed == 0:
                break
    assert step > 16


def test_flushed_redis(own: Daemon) -> None:
    with Scoreboard(**own.options) as sb:
        for n in range(10):
            sb.submit(user_id="flushed", delta=10_000, event_id=f"f{n}")
        states = sb.watch()
        shown = [s for s in [next(states)] if s.top]
        with socket.create_connection(("127.0.0.1", own.redis_port)) as redis:
            redis.sendall(b"FLUSHALL\r\n")
            assert redis.recv(100).startswith(b"+OK")
        for n in range(10, 20):
            sb.submit(user_id="flushed", delta=10_000, event_id=f"f{n}")
        assert sb.score("flushed", min_version=20).score == 200_000
        end = time.monotonic() + 60
        for state in states:
            if not state.degraded and state.top and state.top[0].score == 200_000:
                shown.append(state)
                break
            assert time.monotonic() < end, state
        assert shown[-1].top[0].user_id == "flushed"
        top = sb.top()
        assert (top.entries[0].user_id, top.entries[0].score) == ("flushed", 200_000)
        states.close()


def test_slow_network(own: Daemon, proxy: Proxy) -> None:
    """Answers are late, then lost after the server has counted."""
    with Scoreboard(**{**own.options, "server": proxy.url}, try_timeout=2) as sb:
        proxy.latency = 0.15
        proxy.bytes_per_second = 20_000
        for n in range(5):
            sb.submit(user_id="slow", delta=1, event_id=f"s{n}")
        proxy.latency, proxy.bytes_per_second = 0, 0
        for n in range(5, 15):
            proxy.lose_answers = 1 + n % 2
            assert sb.submit(user_id="slow", delta=1, event_id=f"s{n}").replayed
        assert sb.score("slow", min_version=15).score == 15
        assert ledger(sb, "slow") == [f"s{n}" for n in range(15)]
        proxy.latency = 30  # nothing comes back
        began = time.monotonic()
        with pytest.raises(UnavailableError) as late:
            sb.submit(user_id="slow", delta=1, event_id="late", timeout=1)
        assert time.monotonic() - began < 3
        assert late.value.event_id == "late"


def test_ten_thousand_offline(own: Daemon, proxy: Proxy, memory: Path) -> None:
    """10,000 increments of 100 users are added while the server cannot be reached, and then sent over a network that
    breaks several times."""
    proxy.refuse = True
    with Scoreboard(**{**own.options, "server": proxy.url}, attempts=2) as sb:
        with OfflineQueue(sb, memory / "q") as queue:
            for n in range(10_000):
                queue.add(user_id=f"off-{n % 100}", delta=1 + n % 5, event_id=f"o{n}")
            with pytest.raises(UnavailableError):
                queue.flush()
            assert len(queue) == 10_000
        proxy.refuse = False
        with OfflineQueue(sb, memory / "q") as queue:  # after a restart of the program
            stop = threading.Event()
            sending = threading.Thread(target=queue.run, args=(stop,), kwargs={"interval": 0.05})
            sending.start()
            end = time.monotonic() + 120
            while left := len(queue):
                assert time.monotonic() < end
                if left % 3 == 0:
                    proxy.lose_answers = 1
                else:
                    proxy.cut()
                time.sleep(0.5)
            stop.set()
            sending.join(30)
            assert queue.rejected() == []
    with Scoreboard(**own.options) as sb:
        for user in range(100):
            mine = range(user, 10_000, 100)
            assert ledger(sb, f"off-{user}") == [f"o{n}" for n in mine]
            assert sb.score(f"off-{user}").score == sum(1 + n % 5 for n in mine)
