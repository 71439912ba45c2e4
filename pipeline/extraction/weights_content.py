"""The weights of an extractor by their content: the file that it reads, and its hash."""

from __future__ import annotations

from pathlib import Path

from pipeline.core import file_sha256
from pipeline.weights import WEIGHTS_FOLDER, WITHOUT_FILE, converted_path, missing, status


def weights_files(name: str) -> list[Path]:
    """What an extractor reads of weights/: one file, which must be there, or nothing."""
    if name in WITHOUT_FILE:
        return []
    if (state := status(name)) != "present":
        raise missing(name, state=state, folder=WEIGHTS_FOLDER)
    return [converted_path(name)]


def sha256_now(weights: str) -> str:
    """What a fingerprint says of weights: the hash of their file, or that there is none."""
    files = weights_files(weights)
    return file_sha256(files[0]) if files else weights
