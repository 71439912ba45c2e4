"""Published checks: an input that others have too, and the numbers that a network must give for it.

A check is a file of extractors/checks/. Inputs that are other people's are named with their hash and where to get them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from extractors.base import Extractor
from pipeline.core import Console, DamageError, UsageError
from pipeline.extraction.build_extractor import extractor_of, rebuilt, state_of
from pipeline.extraction.check_inputs import CheckInput, check_batch, require_file
from pipeline.extraction.check_videos import features_of_video
from pipeline.extraction.network_tensors import differing_tensors
from pipeline.extraction.weights_content import sha256_now
from pipeline.params import Extract
from pipeline.weights import WeightsProof, availability, fetch_command, is_ready, prove_tensors

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


class Verdict(NamedTuple):
    result: Literal["pass", "fail", "weights missing", "input missing"]
    weights: str  # whether they are the published ones
    output: str  # how far off the published numbers


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
    rows = [(name, each.result, each.weights, each.output, chosen[name].source) for name, each in results.items()]
    console.table(("check", "result", "weights", "output", "source"), rows)
    if failed := [name for name, each in results.items() if each.result == "fail"]:
        raise DamageError(
            f"not the published weights or numbers: {', '.join(failed)}",
            hint=f"framescribe weights verify {chosen[failed[0]].params.weights}",
        )
    return {name: each._asdict() for name, each in results.items()}


def _result(check: PublishedCheck, inputs: Path) -> Verdict:
    """The weights first: an output within some per cent of another pipeline's cannot tell a thousandth of a tensor."""
    name, state = check.params.weights, availability(check.params.weights)
    if state == "damaged":
        return Verdict("fail", f"damaged; next: {fetch_command(name)}", "")
    if not is_ready(state):
        return Verdict("weights missing", f"next: {fetch_command(name)}", "")
    if not (check.input.made or (inputs / check.input.file).is_file()):
        return Verdict("input missing", "", f"put {check.input.file} into {inputs}; it is here: {check.input.where}")
    try:
        extractor = extractor_of(check.params, device="cpu")
        weights = _weights_in(extractor, check.params)
    except DamageError as error:
        return Verdict("fail", error.message, "")
    if not weights.holds:
        return Verdict("fail", weights.told, "not computed")
    holds, output = _output(check, extractor, inputs)
    return Verdict("pass" if holds else "fail", weights.told, output)


def _weights_in(extractor: Extractor, params: Extract) -> WeightsProof:
    """Whether the tensors that were loaded are the published ones, and whether the network computes with just these."""
    state = state_of(params.weights, sha256=sha256_now(params.weights)) or {}
    proof = prove_tensors(params.weights, state)
    differing, number = differing_tensors(extractor, rebuilt(params, state))
    if differing:
        return WeightsProof(
            False, f"the network's {differing[0]} is not what the weights give ({len(differing)} differ)"
        )
    return proof._replace(told=f"{proof.told}; the network has them in all its {number}") if proof.holds else proof


def _output(check: PublishedCheck, extractor: Extractor, inputs: Path) -> tuple[bool, str]:
    worst = _difference(check, extractor, inputs)
    told = f"off by {worst:.1e} of the published numbers; {check.tolerance:.0e} is allowed"
    if check.input.unproven:
        told += f"; the input is taken on trust: {check.input.unproven}"
    return worst <= check.tolerance, told


def _difference(check: PublishedCheck, extractor: Extractor, inputs: Path) -> float:
    """The worst over all expected numbers, as a share of the largest of each."""
    rows = {name: torch.as_tensor(found).flatten().double() for name, found in _found(check, extractor, inputs).items()}
    return max(_share(_measured(rows[each.output], each), each) for each in check.expected)


def _found(check: PublishedCheck, extractor: Any, inputs: Path) -> Mapping[str, torch.Tensor | np.ndarray]:
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
