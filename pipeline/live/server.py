"""Starting and stopping: a socket of our own, one link, and nothing left when it ends."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import uvicorn

from pipeline.core import Console, InputError, UsageError
from pipeline.live.access import ENTER, Keys
from pipeline.live.app import make_app
from pipeline.live.connections import BACKLOG, Listening, TimedConnection, allow_files
from pipeline.live.live_project import opened_project
from pipeline.live.stopping import heed_signals

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 2  # for answers that are under way when the server stops


@dataclass(frozen=True)
class Address:
    host: str = LOOPBACK
    port: int = 0  # 0: a free one
    name: str = ""  # that browsers use, if it is not the address
    certificate: Path | None = None
    key: Path | None = None

    def require_safe(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--certificate and --key come together")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise InputError(f"there is no file '{file}'", hint="framescribe cluster certs makes certificates")
        if self.certificate is None and not self._address.is_loopback:
            raise UsageError(
                f"--host {self.host} would show this project to others unencrypted",
                hint="give --certificate and --key, or tunnel: ssh -L 8000:127.0.0.1:8000 THIS_MACHINE",
            )
        if self._address.is_unspecified and not self.name:
            raise UsageError(f"--host {self.host} is no name that a browser can ask for", hint="give --name as well")

    @property
    def _address(self) -> IPv4Address | IPv6Address:
        try:
            return ip_address(self.host)
        except ValueError:
            raise UsageError(f"--host takes an address such as {LOOPBACK}, not '{self.host}'") from None

    def origins(self, port: int) -> list[str]:
        """Every name under which a browser may ask, the one to print first."""
        names = [f"[{self.host}]" if ":" in self.host else self.host]
        names = [self.name, *names] if self.name else names
        if self._address.is_loopback:
            names.append("localhost")
        scheme, usual = ("https", 443) if self.certificate else ("http", 80)
        return [f"{scheme}://{name}" if port == usual else f"{scheme}://{name}:{port}" for name in names]


def serve_project(address: Address, *, device: str, console: Console) -> None:
    """Until Ctrl-C, or a signal to end."""
    address.require_safe()
    if not console.talks:
        raise UsageError("the link is all that `serve` prints, and --quiet or --json would hide it")
    heed_signals()
    allow_files()
    with _bound(address) as listening, opened_project(device=device, console=console) as project:
        port = listening.getsockname()[1]
        keys = Keys(origins=address.origins(port), cookie=f"framescribe-{port}")
        server = uvicorn.Server(_config(address, make_app(project, keys=keys)))
        console.say(f"open: {keys.origins[0]}{ENTER}?token={keys.token}")
        console.say("it opens once, for one browser; Ctrl-C stops the server")
        sys.stdout.flush()  # who reads it by a pipe waits for it
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    console.say("stopped; nothing is left behind")


def _config(address: Address, app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=TimedConnection,
        loop="asyncio",  # which accepts by the method of the socket
        backlog=BACKLOG,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # not every malformed request
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )


def _bound(address: Address) -> socket.socket:
    """Before anything else, so that the link is right and a taken port is told at once."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = Listening(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(BACKLOG)  # whoever has the link may come before the server is ready
    except (OSError, OverflowError) as error:
        listening.close()
        told = f"{address.host} port {address.port} cannot be listened on: {error}"
        raise InputError(told, hint="another --port, or none for a free one") from None
    return listening
