"""One video through its extractors: look into the cache, sample, decode once, forward, keep the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import cast

import numpy as np

from extractors.base import AudioExtractor
from pipeline.cache import get_features, put_features
from pipeline.catalogue import family_module, lookahead_of
from pipeline.core import DecodeError, record_sha256
from pipeline.decoding import Limits, OpenedFile, held, read_frames
from pipeline.extraction import audio_features
from pipeline.extraction.build_extractor import Task, extractor_of
from pipeline.extraction.casting import as_dtype, unusable
from pipeline.extraction.forward_pass import forward_all
from pipeline.extraction.sampling import SampledRows, sample
from pipeline.index import CHECKSUMS_FILE, FILES, VideoIndex, VideoRow, read_index
from pipeline.params import Extract
from pipeline.remote import bring_copy
from pipeline.store import Failure, Rows, VideoFeatures

MOST_ROWS = 10_000_000  # of one video; four days at 25 frames a second
AGAIN = "framescribe decode makes the index again"


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
        missing = [task for task in self.tasks if not self._is_kept(task, keys[task.name], row)]
        failures: dict[str, Failure] = {}
        groups = by_sampling(missing)
        for group in groups:
            try:
                features = self._compute(group, row)
            except DecodeError as error:
                failures |= {task.name: failure_of(error, row) for task in group}
                continue
            for task, video in zip(group, features, strict=True):
                if failure := unusable(video):
                    failures[task.name] = failure
                    continue
                put_features(keys[task.name], video, record=task.record_of(row))
        done = {name: key for name, key in keys.items() if name not in failures}
        computed = tuple(task.name for task in missing if task.name in done)
        return VideoResult(row.id, done, failures, computed, decoded=len(groups))

    def give_up(self, row: VideoRow, why: str) -> VideoResult:
        return VideoResult(row.id, {}, {task.name: Failure("worker-lost", why) for task in self.tasks})

    def _is_kept(self, task: Task, key: str, row: VideoRow) -> bool:
        """Whether the cache has the features, of the rows that the index's times give now.

        The key says which bytes were decoded; the times came from the index, which may have been damaged and repaired.
        """
        entry = get_features(key)
        if entry is None:
            return False
        try:
            return self._fits(task, entry.rows, row)
        except DecodeError:
            return False

    def _fits(self, task: Task, rows: Rows, row: VideoRow) -> bool:
        times = self._times(row)
        if family_module(task.params.family).TAKES != "audio":
            return same_rows(rows, row_table(frame_rows(task.params, row=row, times=times)))
        require_times(task.params, row=row, times=times)
        extractor = cast(AudioExtractor, extractor_of(task.params, device=self.device))
        return audio_features.are_rows_of(rows, extractor, task.params.sampling, row=row, times=times)

    def _times(self, row: VideoRow) -> np.ndarray:
        return _index(self.index, self.index_sha256).times(row.id)

    def _compute(self, group: Sequence[Task], row: VideoRow) -> list[VideoFeatures]:
        """Features are kept under the content's hash, so what is decoded must be the content that was indexed."""
        with held(row.path, limits=Limits()) as video:
            if video.sha256 != row.sha256:
                raise DecodeError(
                    "changed", f"'{row.path}' is not the file that was indexed", hint="framescribe decode"
                )
            with video.reading():
                return self._forward_twice(group, row, video.file)

    def _forward_twice(self, group: Sequence[Task], row: VideoRow, file: OpenedFile) -> list[VideoFeatures]:
        """Once, or again after a crash: someone may have killed the decoder; a bad file will crash it again."""
        try:
            return self._forward(group, row, file)
        except DecodeError as error:
            if error.reason != "crash":
                raise
            return self._forward(group, row, file)

    def _forward(self, group: Sequence[Task], row: VideoRow, file: OpenedFile) -> list[VideoFeatures]:
        times = self._times(row)
        extractors = [extractor_of(task.params, device=self.device) for task in group]
        for_audio = [extractor for extractor in extractors if isinstance(extractor, AudioExtractor)]
        if for_audio:  # a group takes sound, or it takes frames
            for task in group:
                require_times(task.params, row=row, times=times)
            rules = [task.params.sampling for task in group]
            found = audio_features.extract_audio(for_audio, rules, row=row, times=times, file=file)
        else:
            rows = frame_rows(group[0].params, row=row, times=times)
            outputs = forward_all(extractors, read_frames(row, rows.needed, file=file), rows=rows)
            found = [(arrays, row_table(rows)) for arrays in outputs]
        return [
            VideoFeatures(tensors=as_dtype(arrays, task.params.dtype), rows=rows)
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


@lru_cache(maxsize=1)
def _index(folder: Path, sha256: str) -> VideoIndex:
    """Read where it lies; a machine that shares only a cache has a copy there."""
    here = (folder / CHECKSUMS_FILE).is_file()
    return read_index(folder if here else bring_copy(f"index/{sha256}", files=FILES))


def frame_rows(params: Extract, *, row: VideoRow, times: np.ndarray) -> SampledRows:
    """Times that give no sensible rows are this video's failure, not that of all."""
    require_times(params, row=row, times=times)
    return sample(params.sampling, frames=row.frames, times=times, lookahead=lookahead_of(params.family))


def require_times(params: Extract, *, row: VideoRow, times: np.ndarray) -> None:
    if not (np.isfinite(times).all() and np.isfinite([row.duration, row.start]).all()):
        raise DecodeError("bad-times", f"'{row.path}' has presentation times that are no numbers", hint=AGAIN)
    rule = params.sampling
    rate = rule.fps or (1 / rule.hop if rule.hop else 0.0)
    if (rows := max(row.duration, times.max(initial=0.0)) * rate) > MOST_ROWS:
        raise DecodeError("bad-times", f"'{row.path}' would have {rows:.3g} rows, at most {MOST_ROWS} are made")


def row_count(params: Extract, *, row: VideoRow, times: np.ndarray) -> int:
    """Rows that a video will have, known before anything is decoded; none of one that will fail."""
    try:
        require_times(params, row=row, times=times)
    except DecodeError:
        return 0
    extractor = extractor_of(params, device="cpu")
    if isinstance(extractor, AudioExtractor):
        return len(audio_features.window_starts(extractor, params.sampling, duration=row.duration))
    return len(frame_rows(params, row=row, times=times))


def same_rows(one: Rows, other: Rows) -> bool:
    theirs = other.columns()
    return all(np.array_equal(column, theirs[name]) for name, column in one.columns().items())


def row_table(rows: SampledRows) -> Rows:
    return Rows(first_frame=rows.first, last_frame=rows.last, start=rows.start, end=rows.end, valid=rows.valid)


def failure_of(error: DecodeError, row: VideoRow) -> Failure:
    """Without the path: where a file lies changes no byte of a store."""
    return Failure(error.reason, error.message.replace(f"'{row.path}'", "the video"))
