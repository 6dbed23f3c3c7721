import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon, Expiring  # the folder is on the path only now


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that the tests share; each uses its own users."""
    one = Daemon(tmp_path_factory.mktemp("daemon"))
    one.start()
    one.expiring = Expiring(one)
    yield one
    one.expiring.client.close()
    one.stop()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory, where there is one: some tests would wait for the disk 10,000 times."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)
