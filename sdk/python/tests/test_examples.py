"""The example that uses this package, as a program."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from daemon import Daemon

from scoreboard import Scoreboard

ROOT = Path(__file__).parents[3]


def work(server: dict[str, str], path: Path, lines: list[dict[str, object]]) -> "subprocess.CompletedProcess[str]":
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SBCTL_")} | server
    environment["PYTHONPATH"] = str(ROOT / "sdk/python")
    return subprocess.run(
        [sys.executable, ROOT / "examples/python-worker/worker.py", path],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )


def test_readme(daemon: Daemon) -> None:
    found = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    server = {name: daemon.env[name] for name in ("SBCTL_SERVER", "SBCTL_TOKEN", "SBCTL_KEY_ID", "SBCTL_KEY_SECRET")}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SBCTL_")} | server
    environment["PYTHONPATH"] = str(ROOT / "sdk/python")
    for replayed in (False, True):
        out = subprocess.run(
            [sys.executable, "-c", found[1]], capture_output=True, text=True, timeout=60, env=environment, check=True
        )
        assert re.fullmatch(rf"\d+ {replayed}\n", out.stdout)


def test_worker(daemon: Daemon, tmp_path: Path) -> None:
    server = {name: daemon.env[name] for name in ("SBCTL_SERVER", "SBCTL_TOKEN", "SBCTL_KEY_ID", "SBCTL_KEY_SECRET")}
    results: list[dict[str, object]] = [{"match": n, "user": "worker", "points": 1000} for n in range(20)]
    away = work(server | {"SBCTL_SERVER": "http://127.0.0.1:1"}, tmp_path / "q", results)
    assert away.returncode == 1
    assert "20 results wait" in away.stderr
    back = work(server, tmp_path / "q", [*results[15:], {"match": 20, "user": "worker", "points": 1000}])
    assert back.returncode == 0, back.stderr
    wrong = work(server, tmp_path / "q", [{"match": 21, "user": "worker", "points": 10_000_000}])
    assert wrong.returncode == 3
    assert "delta_out_of_range" in wrong.stderr
    with Scoreboard(**daemon.options) as sb:
        assert sb.score("worker", min_version=21).score == 21_000
