"""More connections than a server may have files: the next client is served, and nobody is told a thousand times."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.live.serving import PROGRAM, Served, serving

pytestmark = pytest.mark.slow

FILES, CONNECTIONS = 256, 600  # as some systems allow
LIMITED = ("/bin/sh", "-c", f'ulimit -Sn {FILES} && exec "$@"', "sh", *PROGRAM)


@pytest.fixture(params=["plain", "encrypted"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    options: list[str] = []
    if request.param == "encrypted":
        pytest.importorskip("cryptography")
        assert main(["cluster", "certs", "--out", str(tmp_path / "certs"), "--quiet"]) == 0
        files = [str(tmp_path / f"certs/scheduler{end}.pem") for end in ("", "-key")]
        options = ["--name", "localhost", "--certificate", files[0], "--key", files[1]]
    with serving(tmp_path, *options, program=LIMITED) as each:
        each.enter()
        yield each


def test_silent_connections_leave_room(server: Served) -> None:
    """Of TLS none begins its handshake, which lasts a minute where nobody ends it."""
    port = int(server.host.split(":")[1])
    with ExitStack() as silent:
        for _ in range(CONNECTIONS):
            silent.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        assert [server.ask("/caption").status for _ in range(3)] == [200] * 3
    server.process.terminate()
    try:
        _, said = server.process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        pytest.fail("it cannot stop")
    assert said.strip() == ""
