"""Check that a profile's workers are fit for the work, or make the certificates that they trust each other by."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import params, weights
from pipeline.core import ClusterError, Console, MissingToolError, UsageError
from workflows import cluster


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["check", "certs"])
    parser.add_argument("--out", type=Path, default=Path("certs"), help="certs: the folder (default: %(default)s)")
    parser.add_argument("--host", action="append", default=[], help="certs: a name or address of a machine; repeatable")
    parser.add_argument("--days", type=int, default=365, help="certs: how long they are valid (default: %(default)s)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return _certs(args, console) if args.action == "certs" else _check(args, console)


def _certs(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    try:
        written = cluster.make_certificates(args.out, hosts=args.host, days=args.days)
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
    machine = args.machine()
    if not machine.is_cluster:
        raise UsageError("this profile has no cluster", hint="framescribe doctor looks at this machine")
    known = params.load_params().extract.values() if params.PARAMS_FILE.is_file() else []
    wanted = sorted({each.weights for each in known} - set(weights.WITHOUT_FILE))
    found = cluster.check(machine.profile, weights=wanted)
    console.table(("worker", "host", "devices", "state"), cluster.as_rows(found))
    if len(found) < cluster.worker_count(machine.profile):
        console.say(
            f"{len(found)} of {cluster.worker_count(machine.profile)} workers came within {machine.profile.wait:.0f} s"
        )
    unfit = [each for each in found if each.problems]
    summary = {"workers": cluster.as_summary(found), "weights": wanted, "fit": not unfit}
    if not unfit:
        console.say(f"{len(found)} workers, all fit")
        return summary
    console.finish(summary)  # the error below would otherwise leave --json without its object
    raise ClusterError(f"{len(unfit)} of {len(found)} workers are not fit; first: {unfit[0].problems[0]}")
