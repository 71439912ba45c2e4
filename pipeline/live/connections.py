"""Connections that send nothing, or drip it: each has so long for its request line and headers, and then it is closed.

uvicorn reads as long as a client likes to write; bodies are timed where they are read (`bodies`). asyncio takes every
connection that comes, and complains in thousands of lines when there are no more files for them.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MOST = 256  # at once; beyond it one makes room: the longest silent, else the one that has not moved for longest
BACKLOG = 64  # taken at once, before the ones over `MOST` make room
MOST_UNHEARD = 128  # that are taken and not made: those whose TLS handshake does not go on
FILES = 1024  # open ones, for all of them

_unheard: dict[int, socket.socket] = {}


class Listening(socket.socket):
    """Beyond so many unfinished handshakes the oldest is given up; asyncio would wait a minute for each."""

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        _unheard.pop(connection.fileno(), None)  # the number of one that is closed
        _unheard[connection.fileno()] = connection
        if len(_unheard) > MOST_UNHEARD:
            with suppress(OSError):  # closed already
                _unheard.pop(next(iter(_unheard))).shutdown(socket.SHUT_RDWR)
        return connection, address


def allow_files() -> None:
    """Some systems give a program 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class TimedConnection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None
    _moved = 0.0  # when a byte came, or went after the client had been slow to take it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _unheard.pop(transport.get_extra_info("socket").fileno(), None)
        self._moved = self.loop.time()
        if len(self.connections) > MOST:
            others = [each for each in self.connections if isinstance(each, TimedConnection) and each is not self]
            min(others, key=TimedConnection.worth).transport.abort()  # a client that takes no answer is not waited for
        self._expect_headers()

    def worth(self) -> tuple[bool, float]:
        return (self._deadline is None, self._deadline.when() if self._deadline else self._moved)

    def resume_writing(self) -> None:
        self._moved = self.loop.time()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        self._moved = self.loop.time()
        if self._waits_for_headers():
            self._expect_headers()
        super().data_received(data)
        if not self._waits_for_headers():
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _waits_for_headers(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
