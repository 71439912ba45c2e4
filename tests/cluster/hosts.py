"""Machines that are network namespaces of this one, joined by a bridge. Needs rights that few have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
NETWORK = "10.213.77"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@dataclass
class Hosts:
    """`hosts[0]` has the address NETWORK.1, and so on; each has an end of a cable in the bridge."""

    names: list[str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def address(self, number: int) -> str:
        return f"{NETWORK}.{number + 1}"

    def run(self, number: int, *arguments: str, folder: Path, **variables: str) -> subprocess.Popen[bytes]:
        command = ["ip", "netns", "exec", self.names[number], sys.executable, "-m", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        log = (folder / f"host{number}.log").open("ab")
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def unplug(self, number: int) -> None:
        ip("link", "set", f"{self.names[number]}b", "down")

    def plug_in(self, number: int) -> None:
        ip("link", "set", f"{self.names[number]}b", "up")


@contextmanager
def network(count: int) -> Iterator[Hosts]:
    """A CalledProcessError or an OSError tells that this is not permitted here."""
    tag = f"f{os.getpid() % 100000}"
    bridge, hosts = f"{tag}br", Hosts([f"{tag}h{number}" for number in range(count)])
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("link", "set", bridge, "up")
        for number, name in enumerate(hosts.names):
            ip("netns", "add", name)
            ip("link", "add", f"{name}b", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{name}b", "master", bridge, "up")
            ip("-n", name, "address", "add", f"{hosts.address(number)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield hosts
    finally:
        for process in hosts.processes:
            process.kill()
            process.wait()
        for name in hosts.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", bridge], capture_output=True, check=False)
