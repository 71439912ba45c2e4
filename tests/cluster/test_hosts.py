"""Several machines for real: namespaces joined by cables, TLS on; one is cut off in the middle and comes back."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from tests.cluster.disturbing import cached, undisturbed
from tests.cluster.holding import ENOUGH, HOLD
from tests.cluster.hosts import Hosts, network
from tests.cluster.sockets import listeners
from tests.store.making import TOY, index_of, write_clips
from workflows.cluster.certificates import make_certificates

PORT = "8786"
PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {"toy": TOY}, "train": {}}
PROFILE = """
kind: scheduler
address: tls://10.213.77.1:8786
certificates: certs
device: cpu
videos_per_task: 1
patience: 3 s
wait: 120 s
"""
SCHEDULER = {"ALLOWED_FAILURES": "0", "WORKER_SATURATION": "1.0", "WORKER_TTL": "5s"}


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    try:
        with network(3) as found:
            yield found
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"network namespaces are not permitted here: {error}")


def tls(role: str) -> list[str]:
    return ["--tls-ca-file", "certs/ca.pem", "--tls-cert", f"certs/{role}.pem", "--tls-key", f"certs/{role}-key.pem"]


def start_cluster(hosts: Hosts, folder: Path) -> None:
    page = ["--dashboard-address", "127.0.0.1:0"]
    place = ["--host", hosts.address(0), "--port", PORT, "--protocol", "tls", "--no-dashboard"]
    settings = {f"DASK_DISTRIBUTED__SCHEDULER__{name}": value for name, value in SCHEDULER.items()}
    hosts.run(0, "distributed.cli.dask_scheduler", *place, *page, *tls("scheduler"), folder=folder, **settings)
    for number in (1, 2):
        own = ["--nthreads", "1", "--host", hosts.address(number), "--preload", "tests.cluster.holding"]
        address = f"tls://{hosts.address(0)}:{PORT}"
        hosts.run(number, "distributed.cli.dask_worker", address, *own, *page, *tls("worker"), folder=folder)


def until(happens: Callable[[], bool], *, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_host_that_is_cut_off_and_comes_back(hosts: Hosts, tmp_path: Path) -> None:
    write_clips(tmp_path / "videos", 24)
    index = index_of(tmp_path / "videos", tmp_path / "data/index")
    make_certificates(tmp_path / "certs", hosts=[hosts.address(number) for number in range(3)])
    Path("params.yaml").write_text(json.dumps(PARAMS))
    Path("tls.yaml").write_text(PROFILE)
    start_cluster(hosts, tmp_path)
    program = ["tests.cluster.knowing_toy"]
    check = [*program, "cluster", "check", "--profile", "tls.yaml", "--json"]

    def fit() -> int:
        """Workers that the check finds fit, from the scheduler's host."""
        asked = hosts.run(0, *check, folder=tmp_path)
        return 0 if asked.wait() else 1

    until(lambda: worker_count(hosts, tmp_path) == 2)
    found = listeners(process.pid for process in family(hosts))
    outside = {address for address, _ in found if not ip_address(address).is_loopback}
    assert outside == {hosts.address(number) for number in range(3)}  # nothing on all interfaces
    HOLD.touch()
    run = hosts.run(0, *program, "extract", "toy", "--out", "store", "--profile", "tls.yaml", folder=tmp_path)
    until(lambda: len(cached()) >= ENOUGH or run.poll() is not None)
    hosts.unplug(2)
    HOLD.unlink()
    assert run.wait() == 0, (tmp_path / "host0.log").read_text()[-2000:]
    undisturbed(index, tmp_path)
    hosts.plug_in(2)
    until(lambda: worker_count(hosts, tmp_path) == 2)
    assert fit() == 1


def family(hosts: Hosts) -> list[psutil.Process]:
    own = [psutil.Process(process.pid) for process in hosts.processes if process.poll() is None]
    return [*own, *(child for process in own for child in process.children(recursive=True))]


def worker_count(hosts: Hosts, folder: Path) -> int:
    """As the scheduler sees it, asked over TLS from its own host."""
    code = (
        "from distributed import Client\n"
        "from workflows.cluster.start import security_of\n"
        "from workflows.profiles.schema import load_profile\n"
        "profile = load_profile('tls.yaml')\n"
        "client = Client(profile.address, security=security_of(profile), timeout=60)\n"
        "print(len(client.run(int)))\n"
    )
    command = ["ip", "netns", "exec", hosts.names[0], os.sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    asked = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return int(asked.stdout or 0)
