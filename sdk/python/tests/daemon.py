"""Real daemons: scoreboardd dev with its own backends, on free ports."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from scoreboard import Scoreboard

PROGRAM = Path(os.environ.get("SCOREBOARDD", Path(__file__).parents[3] / "bin/scoreboardd")).resolve()

# Tests send more than people do.
SETTINGS = {
    f"SCOREBOARD_LIMIT_{name}_PER_MINUTE": "0"
    for name in ("UPDATES", "TOP", "RANK", "EVENTS", "TICKETS", "ADMIN", "ANONYMOUS", "AUTH_FAILURES")
} | {
    f"SCOREBOARD_REALTIME_{name}": "0"
    for name in ("CONNECTIONS_PER_USER", "CONNECTIONS_PER_ADDRESS", "JOINS_PER_SECOND")
}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Daemon:
    """A daemon on fixed ports, which keeps its data over a restart unless it is ephemeral."""

    def __init__(self, folder: Path, *, ephemeral: bool = True, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.command = [str(PROGRAM), "dev", "--data", str(folder / "dev"), "--addr", f"127.0.0.1:{self.port}"]
        self.command += ["--ops-addr", "127.0.0.1:0"] + (["--ephemeral"] if ephemeral else [])
        self.settings = SETTINGS | (settings or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.expiring: Expiring | None = None
        self.redis_port = 0  # of a test that brings its own Redis

    def start(self) -> None:
        env_file = self.folder / "dev/sbctl.env"
        env_file.unlink(missing_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SBCTL_", "SCOREBOARD_"))}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env=environment | self.settings, start_new_session=True
            )
        end = time.monotonic() + 120
        while not (env_file.exists() and env_file.read_text().count("\n") >= 4):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the daemon did not start:\n" + (self.folder / "log").read_text()
            time.sleep(0.05)
        self.env = dict(line.split("=", 1) for line in env_file.read_text().splitlines() if "=" in line)

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait(60)
        self.process = None

    @property
    def options(self) -> dict[str, str]:
        """Arguments of a client with a server's token and a key."""
        return {
            "server": self.env["SBCTL_SERVER"],
            "token": self.env["SBCTL_TOKEN"],
            "key_id": self.env["SBCTL_KEY_ID"],
            "key_secret": self.env["SBCTL_KEY_SECRET"],
        }

    def sbctl(self, *arguments: str) -> str:
        out = subprocess.run(
            [PROGRAM.with_name("sbctl"), *arguments],
            env={**os.environ, **self.env},
            check=True,
            stdout=subprocess.PIPE,
            timeout=60,
        )
        return out.stdout.decode().strip()

    def token(self, user: str, ttl: str = "15m") -> str:
        """A token of a user, without scopes."""
        return self.sbctl("token", "mint", "--user", user, "--ttl", ttl)


class Expiring:
    """A watch whose first token expires while other tests run: the server accepts it for 30 seconds more."""

    def __init__(self, daemon: Daemon) -> None:
        self.first = daemon.token("expiring", "1s")
        self.expired_at = time.monotonic() + 32
        self.tokens = [self.first]
        later = daemon.token("expiring", "1h")

        def token() -> str:
            if time.monotonic() > self.expired_at - 10:  # before that, a lost connection comes back with the same one
                self.tokens.append(later)
            return self.tokens[-1]

        self.client = Scoreboard(**{**daemon.options, "token": token})  # type: ignore[arg-type]
        self.states = self.client.watch()
        next(self.states)
