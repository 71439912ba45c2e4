"""A page on this machine, of this project: caption clips, browse stores and captions, compare runs, watch commands.

It prints one link that opens once; Ctrl-C stops it. Other machines see it only with a certificate.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import live
from pipeline.core import Console, MissingToolError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, metavar="N", help="(default: a free one)")
    other = parser.add_argument_group("for other machines")
    other.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="to listen on (default: %(default)s)")
    other.add_argument("--name", default="", help="by which browsers know it, if not by the address")
    other.add_argument("--certificate", type=Path, metavar="FILE", help="in PEM; without one: this machine alone")
    other.add_argument("--key", type=Path, metavar="FILE", help="of the certificate")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    try:
        address = live.Address(args.host, args.port, args.name, args.certificate, args.key)
    except ModuleNotFoundError as error:
        raise MissingToolError(
            f"`framescribe serve` needs {error.name}", hint="pip install 'framescribe[serve]'"
        ) from error
    live.serve_project(address, device=args.machine().device, console=console)
    return {}
