"""A real server of a project's folder, as a process of its own, and a client that holds its cookie."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.imports import ROOT

PROGRAM = (sys.executable, "-m", "pipeline", "serve")


@dataclass
class Served:
    process: subprocess.Popen[str]
    link: str  # with the token, which opens once
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.link).netloc

    @property
    def address(self) -> str:
        return f"http://{self.host}"

    def enter(self) -> None:
        """Use the link up, and keep the cookie."""
        parts = urlsplit(self.link)
        answer = self.ask(f"{parts.path}?{parts.query}")
        assert answer.status == 200, answer.body
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """As our own page asks; `headers` replace, and None leaves one out."""
        own = {"Host": self.host, "Cookie": self.cookie, "Origin": self.address} | (headers or {})
        connection = HTTPConnection(self.host, timeout=60)
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
def serving(root: Path, *options: str, **environment: str) -> Iterator[Served]:
    """`framescribe serve` in `root`, until the block ends; it must then stop by Ctrl-C and leave its folder clean."""
    changed = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    process = subprocess.Popen(
        [*PROGRAM, *options],
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
        process.wait(30)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
