"""One video through its extractors: look into the cache, sample, decode once, forward, keep the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import numpy as np

from extractors.base import AudioExtractor
from pipeline.cache import get_features, put_features
from pipeline.catalogue import family_module, lookahead_of
from pipeline.core import DecodeError, file_sha256, record_sha256
from pipeline.decoding import opened, read_frames
from pipeline.extraction import audio_features
from pipeline.extraction.build_extractor import Task, extractor_of
from pipeline.extraction.forward_pass import forward_all
from pipeline.extraction.sampling import SampledRows, sample
from pipeline.index import CHECKSUMS_FILE, FILES, VideoIndex, VideoRow, read_index
from pipeline.params import Extract
from pipeline.remote import at_hand, bring_copy
from pipeline.store import Failure, Rows, VideoFeatures


@dataclass(frozen=True)
class VideoResult:
    """What became of one video: names and keys only, the features themselves are in the cache."""

    video_id: str
    keys: dict[str, str]  # task -> key of the entry
    failures: dict[str, Failure]  # task -> reason
    computed: tuple[str, ...] = ()  # tasks
    decoded: int = 0  # passes over the video's frames


@dataclass(frozen=True)
class ExtractVideo:
    """A picklable piece of work: the executor sends it once, then video after video."""

    tasks: tuple[Task, ...]
    index: Path = field(kw_only=True)
    index_sha256: str = field(kw_only=True)  # a worker may live longer than an index
    device: str = field(kw_only=True)

    def __call__(self, row: VideoRow) -> VideoResult:
        keys = {task.name: record_sha256(task.record_of(row)) for task in self.tasks}
        missing = [task for task in self.tasks if get_features(keys[task.name]) is None]
        failures: dict[str, Failure] = {}
        groups = by_sampling(missing)
        for group in groups:
            try:
                features = self._compute(group, row)
            except DecodeError as error:
                failures |= {task.name: failure_of(error, row) for task in group}
                continue
            for task, video in zip(group, features, strict=True):
                put_features(keys[task.name], video, record=task.record_of(row))
        done = {name: key for name, key in keys.items() if name not in failures}
        computed = tuple(task.name for task in missing if task.name in done)
        return VideoResult(row.id, done, failures, computed, decoded=len(groups))

    def give_up(self, row: VideoRow, why: str) -> VideoResult:
        return VideoResult(row.id, {}, {task.name: Failure("worker-lost", why) for task in self.tasks})

    def _compute(self, group: Sequence[Task], row: VideoRow) -> list[VideoFeatures]:
        require_unchanged(row)
        try:
            return self._forward(group, row)
        except DecodeError as error:
            if error.reason != "crash":
                raise
            return self._forward(group, row)  # someone may have killed the decoder; a bad file will crash it again

    def _forward(self, group: Sequence[Task], row: VideoRow) -> list[VideoFeatures]:
        times = _index(self.index, self.index_sha256).times(row.id)
        extractors = [extractor_of(task.params, device=self.device) for task in group]
        for_audio = [extractor for extractor in extractors if isinstance(extractor, AudioExtractor)]
        if for_audio:  # a group takes sound, or it takes frames
            rules = [task.params.sampling for task in group]
            found = audio_features.extract_audio(for_audio, rules, row=row, times=times)
        else:
            rows = frame_rows(group[0].params, row=row, times=times)
            outputs = forward_all(extractors, read_frames(row, rows.needed), rows=rows)
            found = [(arrays, row_table(rows)) for arrays in outputs]
        return [
            VideoFeatures(tensors={name: array.astype(task.params.dtype) for name, array in arrays.items()}, rows=rows)
            for task, (arrays, rows) in zip(group, found, strict=True)
        ]


def by_sampling(tasks: Iterable[Task]) -> list[list[Task]]:
    """Tasks that take the same frames, or sound of the same rate, together: their video is decoded once."""
    rule = {task.name: _decoded_for(task.params) for task in tasks}
    ordered = sorted(tasks, key=lambda task: (rule[task.name], task.name))
    return [list(group) for _, group in groupby(ordered, key=lambda task: rule[task.name])]


def _decoded_for(params: Extract) -> str:
    family = family_module(params.family)
    if family.TAKES == "audio":
        return f"sound {family.RATE}"
    return record_sha256([params.sampling.model_dump(), lookahead_of(params.family)])


def require_unchanged(row: VideoRow) -> None:
    """Features are kept under the content's hash, so the content must be the one that was indexed."""
    try:
        with at_hand(row.path) as local, opened(local) as name:
            found = file_sha256(Path(name))
    except OSError as error:
        raise DecodeError("unreadable", f"'{row.path}': {error.strerror}") from error
    if found != row.sha256:
        raise DecodeError("changed", f"'{row.path}' is not the file that was indexed", hint="framescribe decode")


@lru_cache(maxsize=1)
def _index(folder: Path, sha256: str) -> VideoIndex:
    """Read where it lies; a machine that shares only a cache has a copy there."""
    here = (folder / CHECKSUMS_FILE).is_file()
    return read_index(folder if here else bring_copy(f"index/{sha256}", files=FILES))


def frame_rows(params: Extract, *, row: VideoRow, times: np.ndarray) -> SampledRows:
    return sample(params.sampling, frames=row.frames, times=times, lookahead=lookahead_of(params.family))


def row_count(params: Extract, *, row: VideoRow, times: np.ndarray) -> int:
    """Rows that a video will have, known before anything is decoded."""
    extractor = extractor_of(params, device="cpu")
    if isinstance(extractor, AudioExtractor):
        return len(audio_features.window_starts(extractor, params.sampling, duration=row.duration))
    return len(frame_rows(params, row=row, times=times))


def row_table(rows: SampledRows) -> Rows:
    return Rows(first_frame=rows.first, last_frame=rows.last, start=rows.start, end=rows.end, valid=rows.valid)


def failure_of(error: DecodeError, row: VideoRow) -> Failure:
    """Without the path: where a file lies changes no byte of a store."""
    return Failure(error.reason, error.message.replace(f"'{row.path}'", "the video"))
