"""Numbers that stand for an array, and the judgement whether a family still computes what was recorded of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.catalogue import code_of
from pipeline.extraction.fingerprint import CODE
from tests.extractors.recorded_cases import computed

RECORDED = Path(__file__).with_name("recorded.json")
COMMAND = "python -m tests.extractors.test_recorded_outputs --record"
LIBRARIES = ("numpy", "opencv-contrib-python-headless", "pillow", "timm", "torch", "torchvision", "transformers")
VALUES, PROJECTIONS = 12, 4
DIGITS = 7
# Of an array's root mean square: instruction sets differ by some 1e-5 of it, what somebody changed by 1e-3 and more
TOLERANCE = 1e-4
COUNTED = 2e-3  # shares of pixels: one pixel more or less on this side of an edge is no change


def digest(array: np.ndarray) -> dict[str, Any]:
    """Some values themselves, and sums with random signs, of which every one hears every value."""
    flat = array.astype(np.float64).ravel()
    numbers = np.random.RandomState(0)
    chosen = flat[numbers.randint(0, flat.size, VALUES)]
    signs = (2 * numbers.randint(0, 2, flat.size, np.int8) - 1 for _ in range(PROJECTIONS))
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "mean": rounded(flat.mean()),
        "rms": rounded(np.sqrt((flat**2).mean())),
        "sums": [rounded(flat @ each / np.sqrt(flat.size)) for each in signs],
        "values": [rounded(each) for each in chosen],
    }


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def differs(name: str, record: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    if (record["shape"], record["dtype"]) != (found["shape"], found["dtype"]):
        return True
    before, now = numbers_of(record), numbers_of(found)
    tolerance = COUNTED if name.endswith("magnitude") else TOLERANCE
    return not (np.abs(before - now) <= tolerance * (record["rms"] + np.abs(before))).all()  # also where one is nan


def numbers_of(each: Mapping[str, Any]) -> np.ndarray:
    return np.array([each["mean"], each["rms"], *each["sums"], *each["values"]])


def record_of(family: str) -> dict[str, Any]:
    return {
        "version": code_of(family),
        "pipeline_code": CODE,
        "libraries": {name: installed(name) for name in LIBRARIES},
        "outputs": {name: digest(array) for name, array in computed(family)},
    }


def complaint(family: str, record: Mapping[str, Any] | None) -> str:
    """What is wrong with a family and its record, and what to do; empty when they agree."""
    if record is None:
        return f"the family {family} has no record: {COMMAND} {family}"
    codes = {"version": code_of(family), "pipeline_code": CODE}
    if codes != {name: record[name] for name in codes}:
        return f"the record of {family} is that of another VERSION or CODE: {COMMAND} {family}"
    changed = next(changes(family, record["outputs"]), None)
    if changed is None:
        return ""
    return (
        f"the numbers of the family {family} changed ({changed}), but its VERSION is still {codes['version']} and the "
        f"CODE of pipeline/extraction still {CODE}.\nIf that is meant, raise VERSION in extractors/{family}.py (or "
        f"CODE, where sampling, batching or casting changed): features are then computed again. Then record them: "
        f"{COMMAND} {family}\nIf it is not meant, undo it.{updated(record['libraries'])}"
    )


def changes(family: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Outputs that are not as recorded, as soon as they are found."""
    seen = set()
    for name, array in computed(family):
        seen.add(name)
        if name not in record or differs(name, record[name], digest(array)):
            yield name
    yield from sorted(set(record) - seen)


def updated(libraries: Mapping[str, str]) -> str:
    """The fingerprint knows versions of libraries: with another one there, nothing has to be raised here."""
    now = {name: installed(name) for name in libraries}
    others = [f"{name} {before} -> {now[name]}" for name, before in libraries.items() if now[name] != before]
    return f"\nIf it is the libraries that changed it, only record: {', '.join(others)}." if others else ""


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def read_records() -> dict[str, Any]:
    return json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}


def write_records(records: Mapping[str, Any]) -> None:
    """One line per output, so that a difference can be read."""
    RECORDED.write_text("{\n" + ",\n".join(_family_lines(*each) for each in sorted(records.items())) + "\n}\n")


def _family_lines(family: str, record: Mapping[str, Any]) -> str:
    facts = [f'  "{name}": {json.dumps(record[name])}' for name in ("version", "pipeline_code", "libraries")]
    outputs = [f'   "{name}": {json.dumps(numbers)}' for name, numbers in record["outputs"].items()]
    lines = [*facts, '  "outputs": {\n' + ",\n".join(outputs) + "\n  }"]
    return f' "{family}": {{\n' + ",\n".join(lines) + "\n }"
