"""The parent's side of the decoding child: starts it, limits it, reuses it, and replaces it when it goes wrong."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.core import DecodeError, cores
from pipeline.decoding.arena import Arena, Region
from pipeline.decoding.channel import Channel
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile

PROGRAM = (sys.executable, "-m", "pipeline.decoding.child")
START_SECONDS = 180.0  # a loaded machine may take long to import the libraries
MOST_IDLE = 8  # children kept for the next video
# Frames are a few megabytes each: glibc would give each one back to the kernel and fault it in again
ALLOCATOR = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
}
KEEP_MB = 1024  # a child that has grown beyond this is replaced, not reused
GONE_SECONDS = 10.0  # a killed child that waits for a drive, a debugger or a starved processor may stay for long


class Guard:
    """One child process. Every way it can go wrong becomes a DecodeError, after which it is gone (`alive` is False)."""

    def __init__(self, *, limits: Limits, program: Sequence[str] = (), backend: str = "") -> None:
        self.limits = limits
        self.backend = backend
        self.arena = Arena()
        self.alive = True
        self._killed = False
        self.cost = {"peak_mb": 0.0, "cpu_seconds": 0.0}  # of the child so far, as of its last answer
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the guard
        parent_end, child_end = socket.socketpair()
        self._channel = Channel(parent_end)
        lifeline, self._lifeline = os.pipe()  # its end in the child signals the death of this process
        self._process = _spawn(
            program or PROGRAM,
            child_end,
            self.arena.descriptor,
            limits,
            lifeline=lifeline,
            errors=self._errors,
            backend=backend,
        )
        os.close(lifeline)
        child_end.close()
        _all.add(self)
        self._receive(START_SECONDS, path="")

    def request(
        self, operation: str, *, path: str, file: OpenedFile | None = None, region: Region | None = None, **details: Any
    ) -> Iterator[Any]:
        """Messages of an operation. Leaving early stops the child; time between messages is the caller's own.

        The child reads the open `file`, which is hashed here; without one it opens `path` itself.
        """
        context = {"limits": asdict(self.limits), "folder": str(Path.cwd())}  # the child may be older than a chdir
        descriptor = None if file is None else file.descriptor
        self._send({"operation": operation, "path": path, **context, **details}, path=path, file=descriptor)
        budget = self.limits.timeout
        finished = False
        try:
            while not finished:
                self._return_slots(region, path=path)
                waited = time.monotonic()
                message = self._receive(min(self.limits.stall, budget), path=path)
                budget -= time.monotonic() - waited
                finished = "done" in message
                if budget < 0 and not finished:
                    raise self._expired(path)
                if "reason" in message:
                    self._finish(path)
                    finished = True
                    raise DecodeError(message["reason"], message["message"], hint=message["hint"])
                if not finished and "beat" not in message:
                    yield message
        finally:
            if not finished:
                self._stop(path)

    def waits(self) -> bool:
        """Whether the child is there to be asked; it may have been ended from outside while it was idle."""
        return self.alive and not self._killed and self._process.poll() is None

    def kill(self) -> None:
        """End the child from another thread; its user gets an error. It is not dead at once, so this is noted."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """End the child, whatever it is doing. One that the kernel cannot end yet is left to it, not waited for."""
        if self.alive:
            self.alive = False
            self._channel.close()
            self._process.kill()
            self._exit_code()
            os.close(self._lifeline)
            self.arena.close()
            self._errors.close()

    def _receive(self, seconds: float, *, path: str) -> Any:
        try:
            message = self._channel.receive(max(seconds, 0.001))
            self.cost = message.get("cost", self.cost)
            return message
        except TimeoutError:
            raise self._expired(path) from None
        except (EOFError, ConnectionError):
            raise self._death(path) from None

    def _exit_code(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(GONE_SECONDS)
        return None

    def _expired(self, path: str) -> DecodeError:
        self.close()
        stated = f"the decoder did not get on with '{path}' within its time limit and was killed"
        if self._process.returncode is None:
            stated += f", but process {self._process.pid} is still there"
            return DecodeError("timeout", stated, hint="look whether the drive that the video is on still answers")
        return DecodeError("timeout", stated, hint="raise decode.timeout or decode.stall in params.yaml")

    def _death(self, path: str) -> DecodeError:
        code = self._exit_code()
        self._errors.seek(0)
        last_words = self._errors.read()[-300:].decode(errors="replace").strip()
        self.close()
        if code is None:
            return DecodeError("crash", f"the decoder hung up on '{path}'")
        if -code == signal.SIGALRM:
            return DecodeError("timeout", f"the decoder ran out of time on '{path}'")
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        reason = "memory" if "bad_alloc" in last_words or "MemoryError" in last_words else "crash"
        return DecodeError(reason, f"the decoder died of {cause} on '{path}'{': ' if last_words else ''}{last_words}")

    def _return_slots(self, region: Region | None, *, path: str) -> None:
        if region is not None and region.returned:
            slots = [region.returned.popleft() for _ in range(len(region.returned))]
            self._send(slots, path=path)

    def _send(self, message: Any, *, path: str, file: int | None = None) -> None:
        try:
            self._channel.send(message, file=file)
        except TimeoutError:
            raise self._expired(path) from None
        except ConnectionError:
            raise self._death(path) from None

    def _stop(self, path: str) -> None:
        """The caller left early: ask the child to stop, and go on with it when it does."""
        if not self.alive:
            return
        with suppress(DecodeError):
            self._send(None, path=path)
            self._finish(path)

    def _finish(self, path: str) -> None:
        while "done" not in self._receive(self.limits.stall, path=path):
            pass


_all: weakref.WeakSet[Guard] = weakref.WeakSet()
_at_work = set[Guard]()


class _Idle:
    """Children waiting for work. A forked process starts with none: its parent's children are not its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._guards: list[Guard] = []

    def take(self, limits: Limits, backend: str) -> Guard | None:
        with self._lock:
            self._forget_inherited()
            fitting = (guard for guard in self._guards if guard.limits == limits and guard.backend == backend)
            match = next((guard for guard in fitting if guard.waits()), None)
            if match is not None:
                self._guards.remove(match)
            return match

    def give(self, guard: Guard) -> None:
        with self._lock:
            self._forget_inherited()
            self._guards.append(guard)
            surplus = self._guards[:-MOST_IDLE]
            self._guards = self._guards[-MOST_IDLE:]
        for old in surplus:
            old.close()

    def close(self) -> None:
        with self._lock:
            self._forget_inherited()
            while self._guards:
                self._guards.pop().close()

    def _forget_inherited(self) -> None:
        if self._owner != os.getpid():
            self._owner, self._guards = os.getpid(), []


_idle = _Idle()
atexit.register(_idle.close)


@contextmanager
def borrowed_guard(limits: Limits, *, backend: str = "") -> Iterator[Guard]:
    """A child of one's own for a while: an idle one if there is one, a new one if not.

    One for `torchcodec` loads it when it starts; all others are of one kind.
    """
    wanted = backend if backend == "torchcodec" else ""
    guard = _idle.take(limits, wanted) or Guard(limits=limits, backend=wanted)
    _at_work.add(guard)
    try:
        yield guard
    finally:
        _at_work.discard(guard)
        if guard.alive and guard.cost["peak_mb"] <= KEEP_MB:
            _idle.give(guard)
        else:
            guard.close()


def has_spare_core() -> bool:
    """Whether each child at work may have a second one."""
    return 2 * len(_at_work) <= cores()


def close_idle() -> None:
    """End the children that wait for work."""
    _idle.close()


def kill_all() -> None:
    """End every child of this process, also those at work in other threads: the run is being stopped."""
    for guard in list(_all):
        guard.kill()


def _spawn(
    program: Sequence[str],
    wire: socket.socket,
    memory: int,
    limits: Limits,
    *,
    lifeline: int,
    errors: Any,
    backend: str,
) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH")) if part)
    arguments = [*program, str(wire.fileno()), str(memory), str(limits.max_memory_mb), str(lifeline), backend]
    return subprocess.Popen(
        arguments,
        pass_fds=(wire.fileno(), memory, lifeline),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env={**os.environ, **ALLOCATOR, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )
