"""VATEX v1.0: one JSON list per split, ten English sentences per video."""

from __future__ import annotations

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
    sentences: list[str] = Field(alias="enCap")


def load_vatex(path: Path) -> Annotations:
    require_folder(path, holds=", ".join(TRAIN + VAL + TEST))
    files = {
        "train": required_file(path, TRAIN, holds="VATEX training captions"),
        "val": required_file(path, VAL, holds="VATEX validation captions"),
        "test": first_file(path, TEST),
    }
    present = {split: file for split, file in files.items() if file is not None}
    videos = [(split, video) for split, file in present.items() for video in read_records(file, list[VatexVideo])]
    return build_annotations(
        [(video.id, split) for split, video in videos],
        ((video.id, sentence) for _, video in videos for sentence in video.sentences),
        source=str(path),
    )
