"""Features that others made, as a store.

Read are folders of npy, npz or pt files, HDF5 files with one array or group per video, and an npz or pt file that holds
all videos.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pipeline.core import InputError, file_sha256, named, printable, record_sha256
from pipeline.store import ROW_COLUMNS, Rows, VideoFeatures, not_finite, rows_of, write_store
from pipeline.store_tools.export_names import ABOUT
from pipeline.store_tools.foreign_folder import videos_of_folder
from pipeline.store_tools.foreign_hdf5 import ForeignHdf5, hdf5_bytes, read_hdf5
from pipeline.store_tools.foreign_npz import npz_bytes, read_npz
from pipeline.store_tools.foreign_torch import TORCH, read_torch
from pipeline.store_tools.foreign_whole import videos_of_file
from pipeline.store_tools.unpacked_size import require_size

HDF5 = {".h5", ".hdf5", ".hdf"}
LISTED = 5  # videos with numbers that are none
NAMELESS = "arr_0"  # numpy's name for an array that was given none
SAVE_AS = "save an array per video: numpy.savez(FILE, **{id: array}), or FOLDER/ID.npy"
STEADY = 0.01  # a channel that moves less than this says nothing, and would be all noise at deviation 1


@dataclass(frozen=True)
class Foreign(Mapping[str, VideoFeatures]):
    """The videos of foreign files, read one at a time. What their rows are is only known if the files say so."""

    videos: Mapping[str, Any]  # id -> where its arrays are
    tensor: str = ""  # the name of an array that is alone; without it, its own, or by what a row is
    row_seconds: float = float("nan")
    scale: float = 1.0
    standards: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # tensor -> mean, deviation

    def __getitem__(self, video_id: str) -> VideoFeatures:
        found = _arrays(self.videos[video_id])
        table = {column: found.pop(f"rows.{column}") for column in ROW_COLUMNS if f"rows.{column}" in found}
        arrays = self._named(found)
        if len(table) == len(ROW_COLUMNS):
            return VideoFeatures(tensors=arrays, rows=Rows(**table))
        arrays = {name: self._scaled(name, np.atleast_2d(array)) for name, array in arrays.items()}
        counts = {len(array) for array in arrays.values()}
        if len(counts) != 1:
            raise InputError(
                f"'{printable(video_id)}': its arrays have {sorted(counts)} rows; they must have the same number"
            )
        return VideoFeatures(tensors=arrays, rows=rows_of(counts.pop(), seconds=self.row_seconds))

    def _named(self, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if len(found) > 1:
            return dict(found)
        return {
            self.tensor or (_usual_name(array) if name in ("", NAMELESS) else name): array
            for name, array in found.items()
        }

    def _scaled(self, name: str, array: np.ndarray) -> np.ndarray:
        if not self.standards and self.scale == 1.0:
            return array
        mean, deviation = self.standards.get(name, (np.float32(0), np.float32(1)))
        with np.errstate(over="ignore"):  # infinity is told by its name later
            return ((array.astype(np.float32) - mean) / deviation * self.scale).astype(array.dtype)

    def standardized(self) -> Foreign:
        """The same with every channel at mean 0 and deviation 1 over the rows of all videos."""
        sums: dict[str, Any] = {}
        for video in self.values():
            for name, array in video.items():
                rows = array.reshape(-1, array.shape[-1]).astype(np.float64)
                parts = np.array([np.full(rows.shape[1], len(rows)), rows.sum(0), (rows**2).sum(0)])  # (3, C)
                sums[name] = sums.get(name, 0) + parts
        return replace(self, standards={name: _standard(*parts) for name, parts in sums.items()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.videos)

    def __len__(self) -> int:
        return len(self.videos)


def import_features(
    source: Path,
    out: Path,
    *,
    tensor: str = "",
    row_seconds: float = float("nan"),
    suffix: str = "",
    scale: float = 1.0,
    standardize: bool = False,
) -> dict[str, Any]:
    """Make a store of `source`, of names that end with `suffix`, which is no part of the video's id."""
    with _opened(source, out) as (videos, files):
        if not videos:
            raise InputError(f"{source} holds no features: no .npy, .npz or .pt file, or an empty one", hint=SAVE_AS)
        require_size(source, files, [_bytes(each) for each in videos.values()], out=out)
        videos = _ending(videos, suffix, source)
        named_videos = {_decoded(name.removesuffix(suffix), files): each for name, each in videos.items()}
        if len(named_videos) != len(videos):
            raise InputError(f"{source}: several names are the same without '{suffix}'")
        origin = {path.relative_to(source.parent).as_posix(): file_sha256(path) for path in files}
        record = {"imported": True, "weights": "unknown", "source_sha256": record_sha256(origin)}
        record |= {"row_seconds": None if np.isnan(row_seconds) else row_seconds}
        record |= {} if scale == 1.0 else {"scale": scale}
        record |= {"standardized": True} if standardize else {}
        foreign = Foreign(named_videos, tensor, row_seconds)
        _require_numbers(foreign, source)
        if standardize or scale != 1.0:
            foreign = replace(foreign.standardized() if standardize else foreign, scale=scale)
            _require_numbers(foreign, source)
        return write_store(out, foreign, fingerprint=record)


def _ending(videos: Mapping[str, Any], suffix: str, source: Path) -> dict[str, Any]:
    found = {name: each for name, each in videos.items() if name.endswith(suffix)}
    if not found:
        raise InputError(f"{source}: no name ends with '{suffix}'; there are: {named(videos)}")
    return found


def _require_numbers(foreign: Foreign, source: Path) -> None:
    found = {video_id: not_finite(video) for video_id, video in foreign.items()}
    wrong = [f"{printable(video_id)}: {told}" for video_id, told in found.items() if told]
    if wrong:
        listed = "\n  ".join(wrong[:LISTED] + ["..."] * (len(wrong) > LISTED))
        told = f"{source}: {len(wrong)} of {len(foreign)} videos have numbers that are none:\n  {listed}"
        raise InputError(told, hint="leave these videos out, or ask whoever made the features")


def _decoded(name: str, files: list[Path]) -> str:
    """A name in an export of ours is percent-encoded; other people's percent signs are their own."""
    places = [folder / ABOUT for path in files[:1] for folder in (path.parent, path.parent.parent)]
    ours = any(place.is_file() for place in places)
    return unquote(name, errors="surrogateescape") if ours else name


def _opened(source: Path, out: Path) -> AbstractContextManager[tuple[dict[str, Any], list[Path]]]:
    if not source.exists():
        raise InputError(f"there is no '{source}'", hint="framescribe store import FOLDER_OR_HDF5_FILE STORE")
    if source.is_dir():
        return nullcontext(videos_of_folder(source))
    if source.suffix.lower() in HDF5:
        return ForeignHdf5(source)
    if source.suffix.lower() == ".npz":
        require_size(source, [source], [npz_bytes(source)], out=out)  # all of it is in memory at once
        return nullcontext((videos_of_file(read_npz(source), source), [source]))
    if source.suffix.lower() in TORCH:
        return nullcontext((videos_of_file(read_torch(source), source), [source]))
    allowed = ", ".join([".npz", *TORCH, *sorted(HDF5)])
    raise InputError(f"'{source}' is neither a folder nor a file of many videos ({allowed})", hint=SAVE_AS)


def _usual_name(array: np.ndarray) -> str:
    """As our extractors call it, so that models find it: a vector per row, or regions or a map per row."""
    return "pool" if array.ndim <= 2 else "features"


def _arrays(place: Any) -> dict[str, np.ndarray]:
    """By name; one that has none in its file has the name ''."""
    if isinstance(place, dict):
        return {name: each if isinstance(each, np.ndarray) else _array(each) for name, each in place.items()}
    if isinstance(place, Path):
        readers = {".npz": read_npz, **dict.fromkeys(TORCH, read_torch)}
        return readers[place.suffix](place) if place.suffix in readers else {"": _array(place)}
    return {"": place} if isinstance(place, np.ndarray) else read_hdf5(place)


def _bytes(place: Any) -> int:
    """Of one video, before it is read."""
    if isinstance(place, dict):
        return sum(map(_bytes, place.values()))
    if isinstance(place, Path):
        return npz_bytes(place) if place.suffix == ".npz" else place.stat().st_size
    return place.nbytes if isinstance(place, np.ndarray) else hdf5_bytes(place)


def _standard(count: np.ndarray, total: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each channel; one that never changes is left at its size."""
    mean = total / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0))
    return mean.astype(np.float32), np.where(deviation > STEADY, deviation, 1).astype(np.float32)


def _array(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"'{path}' is not an array that can be read: {error}") from error
