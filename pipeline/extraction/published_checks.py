"""Published checks: an input that others have too, and the numbers that a network must give for it.

A check is a file of extractors/checks/. Inputs that are other people's are named with their hash and where to get them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from pipeline.core import Console, DamageError, UsageError
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.check_inputs import CheckInput, check_batch, require_file
from pipeline.extraction.check_videos import features_of_video
from pipeline.params import Extract
from pipeline.weights import availability, fetch_command, is_ready

CHECKS = Path(__file__).parents[2] / "extractors/checks"


class _CheckFacts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedNumbers(_CheckFacts):
    output: str
    measure: Literal["samples", "vector", "norm", "largest", "mean", "deviation", "percent"]
    every: int = 1  # of the numbers in their order, for samples and vector
    numbers: list[float]


class PublishedCheck(_CheckFacts):
    about: str
    source: str
    params: Extract
    input: CheckInput
    tolerance: float  # of the largest expected number; of the length of a vector
    expected: list[ExpectedNumbers]


@cache
def read_checks(folder: Path = CHECKS) -> dict[str, PublishedCheck]:
    files = sorted(folder.glob("*.yaml"))
    return {file.stem: PublishedCheck.model_validate(YAML(typ="safe").load(file.read_text())) for file in files}


def check_extractors(names: Sequence[str], *, inputs: Path, console: Console) -> dict[str, Any]:
    """Run the checks of these names, or all; an error when one fails."""
    checks = read_checks()
    if unknown := [name for name in names if name not in checks]:
        raise UsageError(f"there is no published check of '{unknown[0]}'; known: {', '.join(checks)}")
    chosen = {name: checks[name] for name in names or checks}
    results = {name: _result(check, inputs) for name, check in chosen.items()}
    rows = [(name, state, told, chosen[name].source) for name, (state, told) in results.items()]
    console.table(("check", "result", "", "source"), rows)
    if failed := [name for name, (state, _) in results.items() if state == "fail"]:
        raise DamageError(
            f"not the published numbers: {', '.join(failed)}",
            hint=f"framescribe weights verify {chosen[failed[0]].params.weights}",
        )
    return {name: {"result": state, "detail": told} for name, (state, told) in results.items()}


def _result(check: PublishedCheck, inputs: Path) -> tuple[str, str]:
    if not is_ready(availability(check.params.weights)):
        return "weights missing", f"next: {fetch_command(check.params.weights)}"
    if not (check.input.made or (inputs / check.input.file).is_file()):
        return "input missing", f"put {check.input.file} into {inputs}; it is here: {check.input.where}"
    worst = _difference(check, inputs)
    told = f"off by {worst:.1e} of the published numbers; {check.tolerance:.0e} is allowed"
    if check.input.unproven:
        told += f"; the input is taken on trust: {check.input.unproven}"
    return ("pass" if worst <= check.tolerance else "fail"), told


def _difference(check: PublishedCheck, inputs: Path) -> float:
    """The worst over all expected numbers, as a share of the largest of each."""
    rows = {name: torch.as_tensor(found).flatten().double() for name, found in _found(check, inputs).items()}
    return max(_share(_measured(rows[each.output], each), each) for each in check.expected)


def _found(check: PublishedCheck, inputs: Path) -> Mapping[str, torch.Tensor | np.ndarray]:
    extractor: Any = extractor_of(check.params, device="cpu")
    if check.input.is_video:
        require_file(check.input, inputs)
        return features_of_video(
            inputs / check.input.file, extractor, check.params, recoded_fps=check.input.recoded_fps
        )
    batch = check_batch(check.input, extractor, check.params.sampling, folder=inputs)
    return extractor.run(batch) if check.input.is_clip else extractor(batch)


def _measured(rows: torch.Tensor, expected: ExpectedNumbers) -> torch.Tensor:
    """Of all rows of the output, one after another."""
    measures: dict[str, Callable[[], torch.Tensor]] = {
        "samples": lambda: rows[:: expected.every],
        "vector": lambda: rows[:: expected.every],
        "largest": lambda: rows.topk(len(expected.numbers)).values,
        "percent": lambda: 100 * rows.softmax(0).topk(len(expected.numbers)).values,  # of logits
        "norm": lambda: rows.norm().reshape(1),
        "mean": lambda: rows.mean().reshape(1),
        "deviation": lambda: rows.std(correction=0).reshape(1),
    }
    return measures[expected.measure]()


def _share(found: torch.Tensor, expected: ExpectedNumbers) -> float:
    """How far off, as a share of the largest number; of the length, where they are one vector."""
    numbers = torch.tensor(expected.numbers, dtype=torch.float64)
    if found.shape != numbers.shape or not bool(found.isfinite().all()):
        return float("inf")
    if expected.measure == "vector":
        return float((found - numbers).norm() / numbers.norm())
    return float((found - numbers).abs().max() / numbers.abs().max())
