"""What this machine has, what is missing, what that blocks and how to fix it. Ends with 4 when the graph cannot run."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from pipeline import doctor
from pipeline.core import Console, MissingToolError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="the installation and the disk alone, in about a second")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.profile:
        args.machine()  # one that is not there is told first; without one, doctor needs no package to answer
    checks = doctor.glance() if args.quick else doctor.examine()
    console.table(("check", "state", "detail"), [(check.name, check.state, check.detail) for check in checks])
    for check in checks:
        if check.state != "ok":
            console.say(f"\n{check.state}: {check.name}\n  blocks: {check.blocks}\n  fix: {check.fix}")
    summary = {"ready": True, "checks": [asdict(check) for check in checks]}
    missing = [check for check in checks if check.state == "missing"]
    if not missing:
        console.say(f"\nready: {'the installation is whole' if args.quick else 'everything the graph needs is here'}")
        return summary
    console.finish(summary | {"ready": False})  # the error below would otherwise leave --json without its object
    raise MissingToolError(f"missing: {', '.join(check.name for check in missing)}", hint=missing[0].fix)
