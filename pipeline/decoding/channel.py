"""The wire between parent and child: JSON lines over a socket. Never pickles: the child reads hostile files."""

from __future__ import annotations

import json
import select
import socket
from typing import Any


class Channel:
    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._pending = bytearray()

    def send(self, message: Any) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, timeout: float | None = None) -> Any:
        """The next message; EOFError when the other end is gone, TimeoutError when it is silent for too long."""
        self._socket.settimeout(timeout)
        while (end := self._pending.find(b"\n")) < 0:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise EOFError
            self._pending += chunk
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return json.loads(line)

    def waiting(self) -> bool:
        """Whether `receive` has something at once."""
        return b"\n" in self._pending or bool(select.select([self._socket], [], [], 0)[0])

    def close(self) -> None:
        self._socket.close()
