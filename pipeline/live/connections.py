"""Connections that send nothing, or drip it: each has so long for its request line and headers, and then it is closed.

uvicorn reads as long as a client likes to write; bodies are timed where they are read (`bodies`).
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MOST = 256  # at once; beyond it one makes room: the longest silent, else the one that has not moved for longest


class TimedConnection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None
    _moved = 0.0  # when a byte came, or went after the client had been slow to take it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
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
