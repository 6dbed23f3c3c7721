"""Splits server-sent events into messages."""

from collections.abc import Iterator

from scoreboard._config import MAX_FRAME


class EventStream:
    """Takes the bytes of a stream as they come, and yields the data of each event, and None for each comment (a
    heartbeat). Lines end at \\n alone: names in messages may contain what Python also takes for the end of a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, part: bytes) -> Iterator[bytes | None]:
        *lines, self._rest = (self._rest + part).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                self._data, self._size = [], 0
            elif line.startswith(b":"):
                yield None
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
                self._size += len(line)
        if self._size + len(self._rest) > MAX_FRAME:
            raise ValueError(f"an event of over {MAX_FRAME} bytes")
