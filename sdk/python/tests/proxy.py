"""A TCP proxy that makes a network slow, or breaks it."""

import contextlib
import socket
import threading
import time


class Proxy:
    """Forwards connections to a port. Change its attributes while it runs; cut breaks the connections."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.latency = 0.0  # seconds, each way
        self.bytes_per_second = 0  # 0 is no limit
        self.refuse = False  # new connections
        self.lose_answers = 0  # that many answers are lost: the connection breaks after the request was forwarded
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        for pair in list(self._pairs):
            self._drop(pair)

    def _drop(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for each in pair:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuse:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    client.close()
                    continue
                pair = (client, server)
                self._pairs.add(pair)
                threading.Thread(target=self._forward, args=(pair, client, server), daemon=True).start()
                threading.Thread(target=self._forward, args=(pair, server, client), daemon=True).start()

    def _forward(self, pair: tuple[socket.socket, socket.socket], source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(4096):
                if source is pair[1] and self.lose_answers > 0:
                    self.lose_answers -= 1
                    break
                time.sleep(self.latency)
                if self.bytes_per_second:
                    time.sleep(len(part) / self.bytes_per_second)
                to.sendall(part)
        self._drop(pair)
