"""Who listens where, read from the kernel's own tables."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

LISTENS = "0A"


def listeners(processes: Iterable[int]) -> dict[tuple[str, int], int]:
    """Address and port of every listening TCP socket that one of the processes holds, with that process."""
    found: dict[tuple[str, int], int] = {}
    for process in processes:
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile, and holds nothing
            found |= dict.fromkeys(_listening(process), process)
    return found


def _listening(process: int) -> list[tuple[str, int]]:
    held = _inodes(process)
    tables = [Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:] for table in ("tcp", "tcp6")]
    sockets = [[line.split()[field] for field in (1, 3, 9)] for table in tables for line in table]
    return [_address(local) for local, state, inode in sockets if state == LISTENS and inode in held]


def _inodes(process: int) -> set[str]:
    links = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.add(str(descriptor.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def _address(text: str) -> tuple[str, int]:
    """The kernel writes addresses as words of the machine's own byte order."""
    host, port = text.split(":")
    words = [int(host[first : first + 8], 16) for first in range(0, len(host), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    return str(IPv4Address(packed) if len(packed) == 4 else IPv6Address(packed)), int(port, 16)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
