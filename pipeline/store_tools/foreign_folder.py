"""A folder of features that others made, with a file per video, or per video and tensor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.core import InputError
from pipeline.store_tools.foreign_torch import TORCH

SEVERAL = (".npz", *TORCH)  # may hold several tensors of a video
ENDINGS = (".npy", *SEVERAL)


def videos_of_folder(source: Path) -> tuple[dict[str, Any], list[Path]]:
    """`<id>.npz`, `<id>.npy` or `<id>.pt` at any depth, or `<tensor>/<id>.npy`."""
    files = sorted(path for path in source.rglob("*") if path.suffix in ENDINGS and path.is_file())
    divided = _are_parts(files)
    videos: dict[str, Any] = {}
    for path in files:
        alone = divided or path.parent == source or path.suffix in SEVERAL
        if alone and path.stem in videos:
            raise InputError(f"{source} has more than one file called '{path.stem}'")
        if alone:
            videos[path.stem] = path
        elif isinstance(videos.setdefault(path.stem, {}), Path):
            raise InputError(f"{source} has '{path.stem}' both beside and in sub-folders")
        else:
            videos[path.stem][path.parent.relative_to(source).as_posix().replace("/", ".")] = path
    return videos, files


def _are_parts(files: Sequence[Path]) -> bool:
    """Sub-folders such as `train` and `test` have other videos each; those of tensors have the same ones."""
    folders = {path.parent for path in files}
    return len(folders) > 1 and len({path.stem for path in files}) == len(files)
