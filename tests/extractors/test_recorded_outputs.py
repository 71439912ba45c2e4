"""Arithmetic does not change unnoticed: every family gives the numbers that recorded.json has beside its version.

After a change that is meant, and a raised version: `python -m tests.extractors.test_recorded_outputs --record FAMILY`
(several, or none for all).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import torch

from pipeline.catalogue import code_of
from tests.extractors.recorded_cases import CASES
from tests.extractors.recording import complaint, read_records, record_of, write_records

FOLDER = Path(__file__).parents[2] / "extractors"
OPENCV = ("csn", "flow", "frames", "i3d_flow")  # one of their cases needs the extra `flow`
recorded_machine = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="torch resizes whole numbers in another way on this machine",
)


def test_every_family_has_cases_and_a_record() -> None:
    ours = [path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "base")]

    assert set(CASES) == set(read_records()) == {family for family in ours if isinstance(code_of(family), int)}


@recorded_machine
@pytest.mark.parametrize("family", sorted(CASES))
def test_numbers_are_those_of_the_recorded_version(family: str) -> None:
    if family in OPENCV:
        pytest.importorskip("cv2", reason="the extra `flow` is not installed")

    if family == "transformers":
        pytest.importorskip("transformers", reason="the extra `transformers` is not installed")

    message = complaint(family, read_records().get(family))

    assert not message, message


def record(families: list[str]) -> None:
    torch.set_num_threads(1)
    write_records(read_records() | {family: record_of(family) for family in families or CASES})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", nargs="*", choices=sorted(CASES), required=True)
    record(parser.parse_args().record)
