"""A real server of a project's folder, as a process of its own, and a client that holds its cookie."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from tests.imports import ROOT

ENDED = ("done", "failed", "cancelled")
Begun = TypeVar("Begun")
PROGRAM = (sys.executable, "-m", "pipeline", "serve")


@dataclass
class Served:
    process: subprocess.Popen[str]
    link: str  # with the token, which opens once
    cookie: str = ""
    cookie_told: str = ""  # as it was set
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.link).netloc

    @property
    def address(self) -> str:
        return f"{urlsplit(self.link).scheme}://{self.host}"

    def enter(self) -> None:
        """Use the link up, and keep the cookie."""
        parts = urlsplit(self.link)
        answer = self.ask(f"{parts.path}?{parts.query}")
        assert answer.status == 200, answer.body
        self.cookie_told = answer.headers["set-cookie"]
        self.cookie = self.cookie_told.split(";")[0]

    def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """As our own page asks; `headers` replace, and None leaves one out."""
        own = {"Host": self.host, "Cookie": self.cookie, "Origin": self.address} | (headers or {})
        secret = ssl._create_unverified_context() if self.address.startswith("https") else None  # noqa: S323
        connection = (
            HTTPSConnection(self.host, timeout=60, context=secret) if secret else HTTPConnection(self.host, timeout=60)
        )
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in own.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return Answer.of(connection.getresponse())
        finally:
            connection.close()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, response: HTTPResponse) -> Answer:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return cls(response.status, headers, response.read())

    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def serving(root: Path, *options: str, program: Sequence[str] = PROGRAM, **environment: str) -> Iterator[Served]:
    """`framescribe serve` in `root`, until the block ends, which is Ctrl-C for it."""
    changed = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    changed.pop("PYTHONUNBUFFERED", None)
    process = subprocess.Popen(
        [*program, *options],
        cwd=root,
        env=changed,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
    )
    try:
        found = re.search(r"open: (\S+)", process.stdout.readline())
        assert found, process.stderr.read()
        served = Served(process, found[1])
        yield served
        process.send_signal(signal.SIGINT)
        process.wait(120)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def uploaded(served: Served, data: bytes, *, runs: Sequence[str] = ("first",), name: str = "clip.mp4") -> str:
    """The address of the new job."""
    query = urlencode([("name", name), *(("run", run) for run in runs)])
    answer = served.ask(f"/caption/uploads?{query}", method="PUT", body=data)
    assert answer.status == 201, answer.body
    return str(answer.json()["address"])


def waited(served: Served, address: str, *, until: Collection[str] = ENDED, seconds: float = 300) -> dict[str, Any]:
    """The facts of a job when it is in one of these states."""
    last = time.monotonic() + seconds
    while (facts := served.ask(f"{address}/state").json())["state"] not in until:
        assert time.monotonic() < last, facts
        time.sleep(0.1)
    return dict(facts)


def descendants(process: int) -> set[int]:
    """Processes that it started, and theirs."""
    found, parents = {process}, _parents()
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def _parents() -> dict[int, int]:
    told = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            told[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    return told


def gone_after(seconds: float, processes: Collection[int]) -> set[int]:
    """Those that are still there."""
    last = time.monotonic() + seconds
    while (left := set(filter(_runs, processes))) and time.monotonic() < last:
        time.sleep(0.05)
    return left


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def begun_and_held(served: Served, begin: Callable[[], Begun]) -> tuple[Begun, int]:
    """Begin a clip, whose process stands still; however fast the machine is, it will not be done."""
    _hold(served)
    begun = begin()
    while not (held := _hold(served)):
        time.sleep(0.02)
    return begun, held


def go_on(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


def _hold(served: Served) -> int:
    """Only a process that is itself by now: one that is being forked would stop the server with it."""
    for child, parent in _parents().items():
        if parent == served.process.pid and b"job_child" in _command(child):
            os.kill(child, signal.SIGSTOP)
            return child
    return 0


def _command(process: int) -> bytes:
    with suppress(OSError):  # it ended meanwhile
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""
