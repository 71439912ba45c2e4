"""The process that touches native decoders. It takes one request per line, and may be killed at any moment."""

from __future__ import annotations

import fcntl
import math
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import DecodeError
from pipeline.decoding import pyav, torchcodec
from pipeline.decoding.arena import KeptMapping, slot_views
from pipeline.decoding.audio import Sound
from pipeline.decoding.channel import Channel
from pipeline.decoding.early import decoded_early
from pipeline.decoding.examine import JUDGED, examine
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile, opened

BEAT_SECONDS = 0.5  # how often a busy child says that it makes progress
FLUSH_SECONDS = 0.008  # how long a finished frame may wait for company
NICENESS = 5  # whoever prepares frames and feeds a device with them goes first, for decoding is ahead anyway
ORPHAN_SECONDS = 5.0  # beyond the time limit, after which the kernel ends a child whose parent cannot

Operation = Callable[["Session", dict[str, Any]], Iterator[dict[str, Any]]]


class Session:
    """What an operation may use: the channel, the shared memory, the limits, and a sign of life."""

    def __init__(self, channel: Channel, *, memory: int) -> None:
        self.channel = channel
        self.memory = memory
        self._mapped = KeptMapping(memory)
        self._last_sign = time.monotonic()

    def send(self, message: dict[str, Any]) -> None:
        self.channel.send(message)
        self._last_sign = time.monotonic()

    @contextmanager
    def file(self, request: dict[str, Any]) -> Iterator[OpenedFile]:
        """The open file that came with the request, so that what is decoded is what the parent has hashed."""
        given = self.channel.file()
        if given is not None:
            yield OpenedFile(request["path"], given)
            return
        with opened(request["path"]) as file:
            yield file

    def slots(self, request: dict[str, Any]) -> list[np.ndarray]:
        slots, stride = request["slots"], request["stride"]
        return slot_views(
            self._mapped.at(request["offset"], slots * stride), slots=slots, stride=stride, shape=request["shape"]
        )

    def beat(self) -> None:
        if time.monotonic() - self._last_sign > BEAT_SECONDS:
            self.send({"beat": 1})


def examine_video(session: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with session.file(request) as file:
        yield from examine(file, backend=request["backend"], limits=_limits(request), beat=session.beat)


def send_frames(session: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Wanted frames, each in a slot that the parent has given back, several to a message."""
    outbox = Outbox(session, slots=session.slots(request))
    with session.file(request) as file:
        for pixels in _frames(file, request):
            if pixels is not None:
                outbox.put(pixels, path=request["path"])
                del pixels  # before the next frame is made, which then uses the same warm memory
            if outbox.is_due():
                yield from outbox.flush()
                if outbox.is_stopped():  # the parent has seen enough
                    return
    yield from outbox.flush()


class Outbox:
    """Filled slots on their way to the parent. Waking it for each small frame would cost as much as decoding one."""

    def __init__(self, session: Session, *, slots: list[np.ndarray]) -> None:
        self._session = session
        self._slots = slots
        self._free = list(range(len(slots)))
        self._filled: list[int] = []
        self._stopped = False
        self._last_flush = time.monotonic()

    def put(self, pixels: np.ndarray, *, path: str) -> None:
        if pixels.shape != self._slots[0].shape:
            raise DecodeError("size-changes", f"'{path}' has frames of another size than the index states")
        slot = self._free.pop()
        self._slots[slot][...] = pixels
        self._filled.append(slot)

    def is_due(self) -> bool:
        many = len(self._filled) * 2 >= len(self._slots) or not self._free
        return many or time.monotonic() - self._last_flush > FLUSH_SECONDS

    def flush(self) -> Iterator[dict[str, Any]]:
        if self._filled:
            yield {"slots": self._filled}
            self._filled = []
        self._session.beat()
        self._last_flush = time.monotonic()

    def is_stopped(self) -> bool:
        """Take slots back; wait for one if there is none."""
        channel = self._session.channel
        while not self._stopped and (not self._free or channel.waiting()):
            signal.setitimer(signal.ITIMER_REAL, 0)  # the parent may take its time
            returned = channel.receive()
            self._stopped = returned is None
            self._free += returned or []
        return self._stopped


def send_audio(session: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All samples, written to the shared memory as they come."""
    position = request["offset"]
    with session.file(request) as file:
        sound = Sound(file, rate=request["rate"])
        for block in sound.blocks():
            if position - request["offset"] > request["limits"]["max_memory_mb"] << 20:
                raise DecodeError("memory", f"the sound of '{request['path']}' needs too much memory")
            position += os.pwrite(session.memory, np.ascontiguousarray(block, np.float32).data, position)
            session.beat()
    count = (position - request["offset"]) // 4
    yield {"found": sound.found, "samples": count, "start": sound.start or 0.0, "failures": len(sound.failures)}


def tell_build(_: Session, __: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"build": torchcodec.build()}


OPERATIONS: dict[str, Operation] = {
    "examine": examine_video,
    "frames": send_frames,
    "audio": send_audio,
    "build": tell_build,
}


def serve(channel: Channel, *, memory: int, operations: dict[str, Operation]) -> None:
    """Answer requests until the parent is gone."""
    session = Session(channel, memory=memory)
    session.send({"ready": os.getpid()})
    while True:
        try:
            request = channel.receive()
        except EOFError:
            return
        if isinstance(request, dict):  # slots given back after the last frame are no request
            _answer(session, request, operations)


def _answer(session: Session, request: dict[str, Any], operations: dict[str, Operation]) -> None:
    # the default action of SIGALRM ends the process even while native code never returns to Python
    signal.setitimer(signal.ITIMER_REAL, request["limits"]["timeout"] + ORPHAN_SECONDS)
    os.chdir(request["folder"])
    try:
        for message in operations[request["operation"]](session, request):
            session.send(message)
            signal.setitimer(signal.ITIMER_REAL, request["limits"]["timeout"] + ORPHAN_SECONDS)
    except (ConnectionError, EOFError):  # the parent is gone
        raise
    except Exception as error:  # noqa: BLE001 - whatever a library makes of a strange file costs that file
        failure = _failure(error, path=request["path"])
        session.send({"reason": failure.reason, "message": failure.message, "hint": failure.hint})
    signal.setitimer(signal.ITIMER_REAL, 0)
    session.channel.close_file()
    session.send({"done": 1, "cost": _cost()})


def _failure(error: Exception, *, path: str) -> DecodeError:
    if isinstance(error, DecodeError):
        return error
    if isinstance(error, MemoryError):
        return DecodeError("memory", f"'{path}' needs too much memory")
    words = (str(error).splitlines() or [""])[0][:200]
    if type(error).__module__ == "builtins" and isinstance(error, OSError):
        return DecodeError("unreadable", f"'{path}': {words}")
    return DecodeError("unsupported", f"'{path}' holds what the decoder cannot take ({type(error).__name__}: {words})")


def _frames(file: OpenedFile, request: dict[str, Any]) -> Iterator[np.ndarray | None]:
    if request["build"] and (here := torchcodec.build()) != request["build"]:
        raise DecodeError("unsupported", f"'{file.path}' was judged with torchcodec {request['build']}, here is {here}")
    backend, how = request["backend"], {"wanted": request["wanted"], "threads": request["threads"]}
    if backend not in JUDGED:
        return pyav.read(file, limits=_limits(request), early=request["early"], **how)
    frames = JUDGED[backend](file, **how)
    return decoded_early(frames) if request["early"] and _gains_by_a_thread(backend, request["shape"]) else frames


def _gains_by_a_thread(backend: str, shape: list[int]) -> bool:
    """decord has one of its own. Small frames of torchcodec are RGB already: to copy them takes less time than another
    core to fetch them."""
    return backend == "torchcodec" and math.prod(shape) > torchcodec.CALL_BYTES


def _limits(request: dict[str, Any]) -> Limits:
    return Limits(**request["limits"])


def _cost() -> dict[str, float]:
    """Of this process since it started."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"peak_mb": _peak_mb(), "cpu_seconds": usage.ru_utime + usage.ru_stime}


def _peak_mb() -> float:
    """From /proc where there is one: ru_maxrss begins with the size of the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(operations: dict[str, Operation] = OPERATIONS) -> None:
    wire, memory, max_memory_mb, lifeline = (int(argument) for argument in sys.argv[1:5])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the channel
    os.nice(NICENESS)
    _end_with_parent(lifeline)
    if "torchcodec" in sys.argv[5:]:  # before the limit, for torch reserves much address space
        with suppress(DecodeError):  # the request that needs it says so
            torchcodec.build()
    _limit_memory(max_memory_mb)
    serve(Channel(socket.socket(fileno=wire), takes_files=True), memory=memory, operations=operations)


def _end_with_parent(lifeline: int) -> None:
    """When the parent's end of this pipe closes the kernel sends SIGIO, which ends a process in native code too.

    The death signal of prctl would come when the thread ends that started this process, which is not the parent's end.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # the parent went before this was set
        sys.exit(1)


def _limit_memory(max_memory_mb: int) -> None:
    """Address space beyond what the libraries take: allocations fail in the child before the machine swaps."""
    status = Path("/proc/self/statm")
    pages = int(status.read_text().split()[0]) if status.exists() else 0
    limit = pages * resource.getpagesize() + (max_memory_mb << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
