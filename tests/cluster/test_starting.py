"""Workers started by ssh and by a batch system, as far as one machine shows it: a real ssh server, a stand-in queue."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cluster.conftest import QUIET
from tests.cluster.sockets import free_port, listeners
from workflows.cluster.certificates import make_certificates
from workflows.cluster.executor import DaskExecutor
from workflows.cluster.start import _queue
from workflows.profiles.schema import Queue, Ssh

SBATCH = """#!/bin/sh
cp "$1" script && cp "$1" "script.$$"  # its own is gone as soon as this ends
setsid sh "script.$$" > job.log 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job; do kill -- -"$job" "$job" 2> /dev/null; done
"""


@pytest.fixture
def batch_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sbatch` that starts the job's script at once, and `scancel` that ends it."""
    (tmp_path / "bin").mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


@pytest.mark.slow
def test_jobs_of_a_batch_system(batch_system: None, tmp_path: Path) -> None:
    """Also how workers come and go: none at first, as many as the work wants, and TLS between them."""
    make_certificates(tmp_path / "certs")
    facts = {"workers": 2, "at_least": 0, "memory": "1 GiB", "certificates": tmp_path / "certs", "host": "127.0.0.1"}
    settings = {"device": "cpu", "dashboard": None, "wait": 120.0, "directives": ["--gres=gpu:1"], "walltime": "90 min"}
    profile = Queue.model_validate({"kind": "queue", **facts, **settings})
    assert sorted(DaskExecutor(profile, QUIET).map(str, range(6))) == list("012345")
    script = (tmp_path / "script").read_text()
    for line in (
        "#SBATCH --gres=gpu:1",
        "#SBATCH -t 01:30:00",
        "#SBATCH --cpus-per-task=2",
        "--tls-key",
        "--nthreads 1",
    ):
        assert line in script


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        ("slurm", ["#SBATCH -p short", "#SBATCH -A us", "#SBATCH --mem=1G", "#SBATCH -t 04:00:00"]),
        ("pbs", ["#PBS -q short", "#PBS -A us", "#PBS -l select=1:ncpus=2:mem=1073741824b", "walltime=04:00:00"]),
        ("sge", ["#$ -q short", "#$ -P us", "#$ -l h_vmem=1073741824", "h_rt=04:00:00"]),
    ],
)
def test_the_same_profile_for_three_batch_systems(system: str, lines: list[str]) -> None:
    facts = {"workers": 2, "at_least": 0, "memory": "1 GiB", "host": "127.0.0.1", "queue": "short", "account": "us"}
    profile = Queue.model_validate({"kind": "queue", "system": system, "device": "cpu", "dashboard": None, **facts})
    with _queue(profile) as cluster:
        script = cluster.job_script()
    assert [line for line in lines if line not in script] == []
    assert "--dashboard-address 127.0.0.1:0 --host 127.0.0.1" in script
    assert "tls" not in script  # an option without a file would end the worker at once


class Server:
    """An ssh server on loopback that knows one key and runs what it is told."""

    def __init__(self, folder: Path) -> None:
        import asyncssh

        self.port = free_port()
        self.key = folder / "user_key"
        own, user = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
        user.write_private_key(str(self.key))
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_bytes(f"[127.0.0.1]:{self.port} ".encode() + own.export_public_key())
        (folder / "authorized").write_bytes(user.export_public_key())
        self._options = {"server_host_keys": [own], "authorized_client_keys": str(folder / "authorized")}
        self._children: list[subprocess.Popen[bytes]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)

    async def _listen(self) -> None:
        import asyncssh

        await asyncssh.listen("127.0.0.1", self.port, process_factory=self._run, encoding=None, **self._options)

    def stop(self) -> None:
        for child in self._children:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # and the worker that it became the parent of
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _run(self, process: Any) -> None:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        child = subprocess.Popen(["/bin/sh", "-c", process.command], start_new_session=True, **pipes)
        self._children.append(child)
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        await process.stdout.drain()
        process.exit(await self._loop.run_in_executor(None, child.wait))


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[Server]:
    pytest.importorskip("asyncssh")
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.mark.slow
def test_hosts_over_ssh(ssh_server: Server, tmp_path: Path) -> None:
    make_certificates(tmp_path / "certs")
    reach = {"port": ssh_server.port, "key": ssh_server.key, "known_hosts": ssh_server.known_hosts, "user": "anyone"}
    facts = {"hosts": ["127.0.0.1"], "host": "127.0.0.1", "certificates": tmp_path / "certs", "workers_per_host": 2}
    settings = {"device": "cpu", "dashboard": None, "wait": 120.0}
    profile = Ssh.model_validate({"kind": "ssh", **reach, **facts, **settings})
    assert sorted(DaskExecutor(profile, QUIET).map(str, range(6))) == list("012345")


@pytest.mark.slow
def test_without_certificates_no_worker_is_reached_from_elsewhere(ssh_server: Server) -> None:
    reach = {"port": ssh_server.port, "key": ssh_server.key, "known_hosts": ssh_server.known_hosts, "user": "anyone"}
    facts = {"hosts": ["127.0.0.1"], "host": "127.0.0.1", "device": "cpu", "dashboard": None, "wait": 120.0}
    results = DaskExecutor(Ssh.model_validate({"kind": "ssh", **reach, **facts}), QUIET).map(str, range(6))
    next(results)
    found = listeners(each.pid for each in psutil.Process().children(recursive=True))
    assert len(found) >= 3  # the worker, its nanny, its page
    assert [place for place in found if not ip_address(place[0]).is_loopback] == []
    assert len(list(results)) == 5


@pytest.mark.slow
def test_jobs_without_certificates(batch_system: None) -> None:
    facts = {"workers": 1, "memory": "1 GiB", "host": "127.0.0.1", "device": "cpu", "dashboard": None, "wait": 120.0}
    profile = Queue.model_validate({"kind": "queue", "insecure": True, **facts})
    assert sorted(DaskExecutor(profile, QUIET).map(str, range(3))) == list("012")


def test_without_dask_the_package_to_install_is_told(tmp_path: Path) -> None:
    code = "import sys; sys.modules['distributed'] = None; from pipeline.cli import main; sys.exit(main(sys.argv[1:]))"
    profile = tmp_path / "node.yaml"
    profile.write_text("kind: node\nworkers: 1\ndevice: cpu\n")
    command = [sys.executable, "-c", code, "cluster", "check", "--profile", str(profile)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 4
    assert "pip install 'framescribe[cluster]'" in done.stderr
    assert "Traceback" not in done.stderr
