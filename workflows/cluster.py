"""Check that a profile's workers are fit for the work, or make the certificates that they trust each other by."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline.console import Console
from pipeline.errors import ClusterError, MissingToolError, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["check", "certs"])
    parser.add_argument("--out", type=Path, default=Path("certs"), help="certs: the folder (default: %(default)s)")
    parser.add_argument("--host", action="append", default=[], help="certs: a name or address of a machine; repeatable")
    parser.add_argument("--days", type=int, default=365, help="certs: how long they are valid (default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return _certs(args, console) if args.action == "certs" else _check(args, console)


def _certs(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    try:
        from workflows.certificates import make_certificates

        written = make_certificates(args.out, hosts=args.host, days=args.days)
    except ModuleNotFoundError as error:
        raise MissingToolError(
            f"certs needs the package {error.name}", hint="pip install 'framescribe[cluster]'"
        ) from error
    console.table(("file", "who needs it"), [(str(path), _who(path)) for path in written])
    console.say("whoever holds a key can run code on the cluster: copy them as you would a password")
    return {"files": [str(path) for path in written], "days": args.days}


def _who(path: Path) -> str:
    role = path.stem.removesuffix("-key")
    if role == "ca":
        return "nobody but you, to make more" if path.stem.endswith("-key") else "every machine"
    return f"where the {role} runs"


def _check(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import PARAMS_FILE, load_params
    from pipeline.weights import WITHOUT_FILE

    machine = args.machine()
    if not machine.is_cluster:
        raise UsageError("this profile has no cluster", hint="framescribe doctor looks at this machine")
    from workflows.checking import as_rows, as_summary, check
    from workflows.clusters import worker_count

    known = load_params().extract.values() if PARAMS_FILE.is_file() else []
    weights = sorted({each.weights for each in known} - set(WITHOUT_FILE))
    found = check(machine.profile, weights=weights)
    console.table(("worker", "host", "devices", "state"), as_rows(found))
    if len(found) < worker_count(machine.profile):
        console.say(f"{len(found)} of {worker_count(machine.profile)} workers came within {machine.profile.wait:.0f} s")
    unfit = [each for each in found if each.problems]
    summary = {"workers": as_summary(found), "weights": weights, "fit": not unfit}
    if not unfit:
        console.say(f"{len(found)} workers, all fit")
        return summary
    console.finish(summary)  # the error below would otherwise leave --json without its object
    raise ClusterError(f"{len(unfit)} of {len(found)} workers are not fit; first: {unfit[0].problems[0]}")
