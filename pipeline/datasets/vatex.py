"""VATEX v1.0: one JSON list per split, ten English and ten Chinese sentences per video."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pipeline.datasets.annotations import Annotations, build_annotations
from pipeline.datasets.sources import first_file, read_records, require_folder, required_file

TRAIN = ("vatex_training_v1.0.json",)
VAL = ("vatex_validation_v1.0.json",)
TEST = ("vatex_public_test_english_v1.1.json",)  # optional: older copies of the data set come without


class VatexVideo(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    id: str = Field(alias="videoID")


class English(VatexVideo):
    sentences: list[str] = Field(alias="enCap")


class Chinese(VatexVideo):
    sentences: list[str] = Field(alias="chCap")


def load_vatex(path: Path, *, chinese: bool = False) -> Annotations:
    """The Chinese captions of the public test videos were never published."""
    require_folder(path, holds=", ".join(TRAIN + VAL + TEST))
    files = {
        "train": required_file(path, TRAIN, holds="VATEX training captions"),
        "val": required_file(path, VAL, holds="VATEX validation captions"),
        "test": None if chinese else first_file(path, TEST),
    }
    present = {split: file for split, file in files.items() if file is not None}
    videos = [(split, video) for split, file in present.items() for video in _read(file, chinese=chinese)]
    return build_annotations(
        [(video.id, split) for split, video in videos],
        ((video.id, sentence) for _, video in videos for sentence in video.sentences),
        source=str(path),
    )


def _read(file: Path, *, chinese: bool) -> Sequence[English | Chinese]:
    return read_records(file, list[Chinese]) if chinese else read_records(file, list[English])
