"""A bundle is one file of several entries under prefixes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline import weights
from pipeline.core.errors import InputError, MissingToolError, UsageError
from tests.weights.conftest import Register
from tests.weights.making import published

PARTS = {"boxes": "detector.", "pictures": "image."}


@pytest.fixture
def files(register: Register, tmp_path: Path) -> list[Path]:
    """The published files of the two parts of an entry called `pair`."""
    states = {"boxes": {"a": torch.ones(2)}, "pictures": {"a": torch.zeros(3), "b": torch.tensor(5)}}
    paths = []
    for name, state in states.items():
        data = published(state)
        register(name, data, source={"url": f"https://example.org/{name}.pth"})
        paths.append(tmp_path / f"{name}.pth")
        paths[-1].write_bytes(data)
    register("pair", b"", sources=(), parts=PARTS)
    return paths


def test_a_bundle_has_its_parts_under_their_prefixes(files: list[Path], tmp_path: Path) -> None:
    weights.import_files("pair", files[::-1], folder=tmp_path)  # which file is which part is found by its hash

    loaded = weights.load_weights("pair", folder=tmp_path)
    assert {key: tuple(tensor.shape) for key, tensor in loaded.items()} == {
        "detector.a": (2,),
        "image.a": (3,),
        "image.b": (),
    }
    assert {name: weights.verify(name, folder=tmp_path) for name in ("pair", "boxes", "pictures")} == dict.fromkeys(
        ("pair", "boxes", "pictures"), "present"
    )


def test_a_bundle_is_made_when_its_last_part_comes(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="still lacks pictures"):
        weights.import_files("pair", files[:1], folder=tmp_path)
    assert weights.status("pair", folder=tmp_path) == "missing"

    weights.import_files("pair", files[1:], folder=tmp_path)

    assert weights.status("pair", folder=tmp_path) == "present"


def test_parts_that_are_there_already_are_enough(files: list[Path], tmp_path: Path) -> None:
    for name, file in zip(PARTS, files, strict=True):
        weights.import_bytes(name, file.read_bytes(), folder=tmp_path)

    weights.fetch("pair", folder=tmp_path)  # nothing is missing, so no network is used

    assert weights.status("pair", folder=tmp_path) == "present"


def test_a_bundle_of_other_parts_than_the_registry_names_is_not_used(
    files: list[Path], register: Register, tmp_path: Path
) -> None:
    weights.import_files("pair", files, folder=tmp_path)
    register("pair", b"", sources=(), parts={"boxes": "detector.", "pictures": "motion."})

    assert weights.status("pair", folder=tmp_path) == "damaged"


def test_a_file_of_no_part_is_refused(files: list[Path], tmp_path: Path) -> None:
    stranger = tmp_path / "stranger.pth"
    stranger.write_bytes(published({"a": torch.ones(9)}))

    with pytest.raises(InputError, match="published file of no part of 'pair': boxes, pictures"):
        weights.import_files("pair", [stranger], folder=tmp_path)


def test_missing_bundles_name_every_part(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match=r"(?s)boxes\.pth.*pictures\.pth"):
        weights.load_weights("pair", folder=tmp_path)


def test_the_conditions_of_a_part_are_those_of_the_bundle(
    files: list[Path], register: Register, tmp_path: Path
) -> None:
    register("boxes", files[0].read_bytes(), terms="Not for money.")

    with pytest.raises(UsageError, match=r"boxes: MIT\. Not for money"):
        weights.import_files("pair", files, folder=tmp_path)
    weights.import_files("pair", files, folder=tmp_path, accept_licence=True)
