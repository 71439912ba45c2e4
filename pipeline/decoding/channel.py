"""The wire between parent and child: JSON lines over a socket. Never pickles: the child reads hostile files."""

from __future__ import annotations

import json
import os
import select
import socket
from typing import Any


class Channel:
    """`takes_files` is for the child alone: what it sends back is text, never a descriptor."""

    def __init__(self, end: socket.socket, *, takes_files: bool = False) -> None:
        self._socket = end
        self._pending = bytearray()
        self._takes_files = takes_files
        self._files: list[int] = []

    def send(self, message: Any, *, file: int | None = None) -> None:
        """A message, and with it the descriptor of an open file."""
        data = json.dumps(message).encode() + b"\n"
        sent = 0 if file is None else socket.send_fds(self._socket, [data], [file])
        self._socket.sendall(data[sent:])

    def receive(self, timeout: float | None = None) -> Any:
        """The next message; EOFError when the other end is gone, TimeoutError when it is silent for too long."""
        self._socket.settimeout(timeout)
        while (end := self._pending.find(b"\n")) < 0:
            chunk = self._read()
            if not chunk:
                raise EOFError
            self._pending += chunk
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return json.loads(line)

    def waiting(self) -> bool:
        """Whether `receive` has something at once."""
        return b"\n" in self._pending or bool(select.select([self._socket], [], [], 0)[0])

    def file(self) -> int | None:
        """The descriptor that came with the last message."""
        return self._files[-1] if self._files else None

    def close_file(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def _read(self) -> bytes:
        if not self._takes_files:
            return self._socket.recv(1 << 16)
        chunk, files, _, _ = socket.recv_fds(self._socket, 1 << 16, 1)
        self._files += files
        return chunk

    def close(self) -> None:
        self._socket.close()
