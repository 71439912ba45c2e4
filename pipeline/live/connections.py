"""Connections that send nothing, or drip it: each has so long for its request line and headers, and then it is closed.

uvicorn reads as long as a client likes to write; bodies are timed where they are read (`bodies`).
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MOST = 256  # at once; beyond it the one that has been silent for longest makes room


class TimedConnection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()
        if len(self.connections) > MOST:
            silent = [each for each in self.connections if isinstance(each, TimedConnection) and each._deadline]
            min(silent, key=TimedConnection.due, default=self).transport.close()

    def due(self) -> float:
        return self._deadline.when() if self._deadline else 0.0

    def data_received(self, data: bytes) -> None:
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
