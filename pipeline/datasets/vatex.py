"""VATEX v1.0: one JSON list a split, ten English sentences a video."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pipeline.datasets.annotations import Annotations, build_annotations
from pipeline.datasets.sources import first_file, read_records, require_folder, required_file

TRAIN = ("vatex_training_v1.0.json",)
VAL = ("vatex_validation_v1.0.json",)
TEST = ("vatex_public_test_english_v1.1.json",)  # optional: older copies of the data set come without


class Entry(BaseModel):
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
    entries = [
        (split, entry) for split, file in files.items() if file is not None for entry in read_records(file, list[Entry])
    ]
    return build_annotations(
        [(entry.id, split) for split, entry in entries],
        ((entry.id, sentence) for _, entry in entries for sentence in entry.sentences),
        source=str(path),
    )
