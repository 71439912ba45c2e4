"""The record of a trained run, `run.json`, read without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.core import InputError, file_sha256, read_sealed_json, record_sha256

FEATURES = Path("features")


def read_record(folder: Path) -> dict[str, Any]:
    if not (folder / "run.json").is_file():
        raise InputError(f"there is no run at {folder}", hint=f"dvc repro train@{folder.name}")
    return read_sealed_json(folder / "run.json", hint=f"dvc repro --force train@{folder.name}")


def state_of(folders: Sequence[Path], *, features: Path = FEATURES) -> str:
    """The hash of all that trained runs caption from: their records, their weights and the stores that they read."""
    files = [folder / name for folder in folders for name in ("run.json", "model.safetensors")]
    for folder in folders:
        stores = {facts["store"] for facts in read_record(folder)["features"].values()}
        files += [features / store / "store.json" for store in sorted(stores)]
    return record_sha256({str(path): file_sha256(path) for path in files if path.is_file()})
