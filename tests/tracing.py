"""What a command asks of the network, as the kernel sees it, and what it leaves in the home folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pipeline

ROOT = Path(__file__).parent.parent
SEEN = "trace=connect,sendto,sendmsg,sendmmsg,openat"
# In connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.1")}, 16), and as IPv6
PLACE = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
DNS = 53
RESOLVER = '"/etc/resolv.conf"'  # read before the first question, whatever the answer


@dataclass(frozen=True)
class Asked:
    """`network` is None where processes cannot be traced."""

    network: list[str] | None
    home: list[str] = field(default_factory=list)


def can_trace() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-f", "-qq", "-o", os.devnull, "true"], check=False).returncode == 0


def watched(command: Sequence[str], *, folder: Path, home: Path) -> Asked:
    """Run it with a home folder of its own, and none of the variables that keep libraries silent."""
    home.mkdir()
    log = home.with_suffix(".strace")
    tracer = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "80", "-o", str(log), "-e", SEEN] if can_trace() else []
    own = {name: value for name, value in os.environ.items() if name not in (*pipeline.SILENT, "CI")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = own | {"HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*tracer, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    left = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
    return Asked([*_calls(log.read_text(errors="replace"))] if tracer else None, left)


def _calls(log: str) -> Iterator[str]:
    """Look-ups and connections to other machines; a resolver on this machine asks others."""
    for line in log.splitlines():
        place = PLACE.search(line)
        if RESOLVER in line or (place and (int(place[1]) == DNS or not ip_address(place[2]).is_loopback)):
            yield line
