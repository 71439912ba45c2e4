"""What `framescribe weights` shows: the registry as a table, the state of files, and where each file came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.core import Console, DamageError, MissingToolError, UsageError
from pipeline.params import load_params
from pipeline.weights.converted import converted_path, origin, status, verify
from pipeline.weights.instructions import conditions, fetch_command, missing
from pipeline.weights.lookup import entry, mebibytes
from pipeline.weights.obtaining import fetch, import_files, import_own_file
from pipeline.weights.own import YOURS, own_names
from pipeline.weights.registry import REGISTRY, WEIGHTS_FOLDER, WITHOUT_FILE

ANY = "and of any network of timm, torchvision or pytorchvideo, as LIBRARY:NETWORK or LIBRARY:NETWORK.EDITION"
HASHES = {"sha256": "sha256", "sha256_prefix": "sha256 prefix", "git_blob": "git blob"}


def show_registry(name: str | None, *, markdown: bool, console: Console) -> dict[str, Any]:
    """The table of one entry, or of all."""
    states = {each: status(each) for each in ([name] if name else [*REGISTRY, *own_names()])}
    if markdown:
        console.say(markdown_table())
    else:
        rows = [(each, state, *_facts(each)) for each, state in states.items()]
        console.table(("name", "state", "MiB", "licence", "from", "description"), rows)
        console.say(ANY)
    return dict(states)


def markdown_table() -> str:
    """The table of docs/weights.md: what does not depend on a machine."""
    lines = ["| name | what | licence | MiB | from | proof |", "|---|---|---|---|---|---|"]
    for name in REGISTRY:
        size, licence, source, description = _facts(name)
        lines.append(f"| `{name}` | {description} | {licence} | {size} | {source} | {_hash_kind(name)} |")
    return "\n".join(lines)


def show_status(name: str | None, console: Console) -> dict[str, Any]:
    """Of one entry, or of all that params.yaml needs; an error when one is missing."""
    states = {each: status(each) for each in _needed(name)}
    console.table(("name", "state", "proof"), [(each, state, _proof(each)) for each, state in states.items()])
    absent = [each for each, state in states.items() if state != "present"]
    if absent:
        raise missing(absent[0], state=states[absent[0]], folder=WEIGHTS_FOLDER)
    return dict(states)


def fetch_and_show(name: str, *, accept_licence: bool, console: Console) -> dict[str, Any]:
    console.say(f"{name}: {entry(name).description} ({entry(name).licence})")
    path = fetch(name, accept_licence=accept_licence, console=console)
    return _show_origin(name, path, console)


def import_and_show(
    name: str, files: Sequence[Path], *, accept_licence: bool, trust: bool, console: Console
) -> dict[str, Any]:
    if not files and not entry(name).parts:
        raise UsageError(f"weights import {name} needs a file", hint=f"framescribe weights fetch {name}")
    path = import_files(name, files, accept_licence=accept_licence, trust=trust)
    return _show_origin(name, path, console)


def import_own_and_show(name: str, files: Sequence[Path], *, network: str, console: Console) -> dict[str, Any]:
    if len(files) != 1:
        raise UsageError(
            f"weights import --network takes one file, not {len(files)}",
            hint=f"framescribe weights import {name} FILE --network {network}",
        )
    path = import_own_file(name, files[0], network=network)
    facts = origin(name)
    console.say(f"{name}: {path} ({_proof(name)})")
    console.say(f"next: framescribe extractors add {name}")
    return {"name": name, "path": str(path), **facts}


def _proof(name: str) -> str:
    """What proves the file that is here; of the user's own, which file it is."""
    facts = origin(name)
    proof = facts.get("proof", "")
    return f"{YOURS}, sha256 {facts['origin_sha256']}" if proof == YOURS else proof


def verify_and_show(name: str | None, console: Console) -> dict[str, Any]:
    """Hash every tensor of one entry, or of all that are here; an error when one is damaged."""
    states = {each: verify(each) for each in ([name] if name else _present())}
    console.table(("name", "state"), list(states.items()))
    for each, state in states.items():
        problem = f"{converted_path(each)} is {state}"
        if state == "missing":
            raise MissingToolError(problem, hint=fetch_command(each))
        if state == "damaged":
            raise DamageError(problem, hint=f"remove it, then: {fetch_command(each)}")
    return dict(states)


def _facts(name: str) -> tuple[str, str, str, str]:
    weights, known = entry(name), mebibytes(name)
    size = f"{known:.3g}" if known else "?"
    licence = f"{weights.licence} (conditions)" if conditions(name) else weights.licence
    return size, licence, _where_from(name), weights.description


def _where_from(name: str) -> str:
    """In a word or two: the parts of a bundle, the package, or the host of the address."""
    weights = entry(name)
    if weights.parts:
        return " + ".join(weights.parts)
    source = weights.sources[0]
    return source.package.requirement if source.package else str(urlsplit(source.url).hostname)


def _hash_kind(name: str) -> str:
    """Which hash its publisher gives."""
    weights = entry(name)
    if weights.parts:
        return "its parts"
    return next((shown for kind, shown in HASHES.items() if getattr(weights.sources[0], kind)), "none")


def _needed(name: str | None) -> Sequence[str]:
    if name is not None:
        entry(name)
        return [name]
    return sorted({each.weights for each in load_params().extract.values()} - {*WITHOUT_FILE})


def _present() -> list[str]:
    """Entries that have a file, those of libraries included."""
    files = [path.relative_to(WEIGHTS_FOLDER) for path in sorted(WEIGHTS_FOLDER.rglob("*.safetensors"))]
    of_libraries = [str(path.with_suffix("")) for path in files if ":" in path.parts[0]]  # detectron2's are in folders
    return [name for name in [*REGISTRY, *of_libraries, *own_names()] if status(name) != "missing"]


def _show_origin(name: str, path: Path, console: Console) -> dict[str, Any]:
    facts = origin(name)
    proof = facts.get("proof", "each part's own")
    console.say(f"{name}: {path} (proof: {proof})")
    if proof.startswith("none"):
        console.say(
            f"  nobody published its hash; this file's sha256 is {facts['origin_sha256']}: compare it if you can"
        )
    return {"name": name, "path": str(path), **facts}
