"""The weights of a run's extractors: whose they are, whether copies may be passed on, where they are found again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pipeline.core import InputError, MissingToolError, UsageError, file_sha256, printable
from pipeline.run_tools.run_file import RunFile
from pipeline.weights import conditions, converted_path, entry, fetch_command

OWN = "yours"  # the licence of weights that the user imported
PASSED_ON = ("apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0", "yolo license", OWN)  # copies are allowed by these
REMARK = re.compile(r"\([^()]*\)")  # behind the name of a licence


def weights_facts(name: str, *, sha256: str) -> dict[str, str]:
    """What one has to know of weights who has none of them yet."""
    try:
        known = entry(name)
    except UsageError:  # the maker's own, and the file that says so is gone
        return {"sha256": sha256, "licence": "unknown", "conditions": "", "description": "", "get": _by_hand(name)}
    return {
        "sha256": sha256,
        "licence": known.licence,
        "conditions": "; ".join(conditions(name)),
        "description": known.description,
        "get": _by_hand(name) if known.licence == OWN else fetch_command(name),
    }


def _by_hand(name: str) -> str:
    return f"copy {converted_path(name)} from where the run was trained: it is a file of its maker's own"


def why_not_packed(facts: Mapping[str, str]) -> str:
    """Empty where the licence lets a copy be passed on; with any condition its owner is to be asked, or the fetcher."""
    names = [REMARK.sub("", part).strip().lower() for part in facts["licence"].split(",")]
    if facts["conditions"]:
        return facts["conditions"]
    strange = [name for name in names if name not in PASSED_ON]
    return f"nothing here says that a licence '{strange[0]}' lets copies be passed on" if strange else ""


def packed_path(name: str, *, sha256: str) -> Path:
    """The file to pack, which must be the one that the features were made with."""
    path = converted_path(name)
    if not path.is_file():
        raise MissingToolError(f"{path} is not here and cannot be packed", hint=_get(name))
    _require_same(path, sha256)
    return path


def weights_here(file: RunFile) -> dict[str, Path]:
    """What the file does not bring, found in weights/ of this folder; an error says all that is lacking."""
    wanted = {name: facts for name, facts in file.needed.items() if name not in file.packed}
    found = {name: converted_path(name).absolute() for name in wanted}
    if lacking := [name for name, path in found.items() if not path.is_file()]:
        told = [f"{name}: {wanted[name]['description']}. Licence: {wanted[name]['licence']}" for name in lacking]
        begin = f"{file.path} does not bring these weights, and weights/ here has none:"
        message = "\n  ".join([begin, *map(printable, told)])
        ways = [wanted[name]["get"] for name in lacking]
        raise MissingToolError(message, hint="\n        ".join(map(printable, [*ways, *_packing(file, lacking)])))
    for name, path in found.items():
        _require_same(path, wanted[name]["sha256"])
    return found


def _packing(file: RunFile, lacking: list[str]) -> list[str]:
    """What its maker could do, where the licences let it."""
    allowed = not any(why_not_packed(file.needed[name]) for name in lacking)
    return [f"or where it was trained: framescribe runs export {file.run} FILE --weights"] if allowed else []


def _require_same(path: Path, sha256: str) -> None:
    if (found := file_sha256(path)) != sha256:
        raise InputError(
            f"{path} has the sha256 {found}; the run's features were made with {printable(sha256)}",
            hint=f"move it away and get the other: {_get(path.stem)}",
        )


def _get(name: str) -> str:
    try:
        return fetch_command(name)
    except UsageError:
        return _by_hand(name)
