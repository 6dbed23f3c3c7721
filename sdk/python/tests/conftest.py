import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon  # the folder is on the path only now


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that the tests share; each uses its own users."""
    one = Daemon(tmp_path_factory.mktemp("daemon"))
    one.start()
    yield one
    one.stop()
