"""One video through its extractors: look into the cache, sample, decode once, forward, keep the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from extractors.base import AudioExtractor
from pipeline.cache import put_features
from pipeline.core import DecodeError, record_sha256
from pipeline.decoding import Limits, OpenedFile, held, kill_all, read_frames
from pipeline.extraction import audio_features
from pipeline.extraction.casting import as_dtype, unusable
from pipeline.extraction.device import drop_waiting
from pipeline.extraction.forward_pass import forward_each, needed_by
from pipeline.extraction.planned_rows import frame_rows, is_kept, require_times, row_table
from pipeline.extraction.rows_told import tell_rows
from pipeline.extraction.shared_pass import guest_tasks, send_away
from pipeline.extraction.task import Task
from pipeline.extraction.video_result import VideoResult
from pipeline.index import CHECKSUMS_FILE, FILES, VideoIndex, VideoRow, read_index
from pipeline.params import Extract
from pipeline.remote import bring_copy
from pipeline.store import Failure, VideoFeatures

Outcome = tuple[Task, VideoFeatures | Failure]
_reading = threading.Lock()


@dataclass(frozen=True)
class ExtractVideo:
    """A picklable piece of work: the executor sends it once, then video after video, or several at a time."""

    overlaps = True  # of a video the device waits for the first frames, and nobody for the last rows
    tasks: tuple[Task, ...]
    index: Path = field(kw_only=True)
    index_sha256: str = field(kw_only=True)  # a worker may live longer than an index
    device: str = field(kw_only=True)
    others: Mapping[str, Extract] = field(default_factory=dict, kw_only=True)  # guests of passes, where they lack one

    def __call__(self, row: VideoRow) -> VideoResult:
        keys, times = {task.name: task.key_of(row) for task in self.tasks}, self._times(row)
        missing = [task for task in self.tasks if not is_kept(task, keys[task.name], row=row, times=times)]
        outcomes, decoded = self._outcomes(missing, self._guests(missing, row), row)
        failures: dict[str, Failure] = {}
        for task, outcome in outcomes:
            if failure := outcome if isinstance(outcome, Failure) else unusable(outcome):
                failures[task.name] = failure
            elif not isinstance(outcome, Failure):
                put_features(task.key_of(row), outcome, record=task.record_of(row))
        done = {name: key for name, key in keys.items() if name not in failures}
        computed = tuple(task.name for task in missing if task.name in done)
        return VideoResult(
            row.id, done, {name: why for name, why in failures.items() if name in keys}, computed, decoded
        )

    def cautious(self) -> ExtractVideo:
        """For a video that a worker was lost with: guests take time and memory."""
        return replace(self, others={})

    def interrupt(self) -> None:
        kill_all()
        drop_waiting()

    def give_up(self, row: VideoRow, why: str) -> VideoResult:
        return VideoResult(row.id, {}, {task.name: Failure("worker-lost", why) for task in self.tasks})

    def _times(self, row: VideoRow) -> np.ndarray:
        with _reading:
            return _index(self.index, self.index_sha256).times(row.id)

    def _guests(self, missing: Sequence[Task], row: VideoRow) -> list[Task]:
        """Other tasks that lack this video too and can have it from the passes there will be."""
        if not missing or not self.others:
            return []
        media, times = {_medium(task) for task in missing}, self._times(row)
        fitting = [task for task in guest_tasks(self.others, device=self.device) if _medium(task) in media]
        return [task for task in fitting if not is_kept(task, task.key_of(row), row=row, times=times)]

    def _outcomes(self, missing: Sequence[Task], guests: Sequence[Task], row: VideoRow) -> tuple[list[Outcome], int]:
        """What became of each task, and in how many passes over the video."""
        outcomes, passes, names = list[Outcome](), 0, {task.name for task in missing}
        for group in by_medium([*missing, *guests]):
            hosts = [task for task in group if task.name in names]
            found, count = self._outcomes_of_pass(hosts, row, [task for task in group if task.name not in names])
            outcomes, passes = outcomes + found, passes + count
        return outcomes, passes

    def _outcomes_of_pass(
        self, group: Sequence[Task], row: VideoRow, guests: Sequence[Task] = ()
    ) -> tuple[list[Outcome], int]:
        """In one pass; where it fails, each sampling in its own, for not all need the frame that cannot be had."""
        everyone = [*group, *guests]
        try:
            return list(zip(everyone, self._compute(everyone, row), strict=True)), 1
        except DecodeError as error:
            alone = by_sampling(group)
            if len(alone) == 1 and not guests:
                return [(task, failure_of(error, row)) for task in group], 1
        except Exception:
            if not guests:
                raise
            send_away(self.others, device=self.device)  # an error of the hosts themselves will come again
            alone = [list(group)]
        found = [self._outcomes_of_pass(each, row) for each in alone]
        return [outcome for outcomes, _ in found for outcome in outcomes], 1 + sum(passes for _, passes in found)

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
        told = [partial(tell_rows, task.name) for task in group]
        for each in told:  # building a network takes a while too
            each(0, 0)
        extractors = [task.extractor(device=self.device) for task in group]
        for_audio = [extractor for extractor in extractors if isinstance(extractor, AudioExtractor)]
        if for_audio:  # a group takes sound, or it takes frames
            for task in group:
                require_times(task.params, row=row, times=times)
            rules = [task.params.sampling for task in group]
            found = audio_features.extract_audio(for_audio, rules, row=row, times=times, file=file, told=told)
        else:
            rows = [frame_rows(task, row=row, times=times) for task in group]
            frames = read_frames(row, needed_by(rows), file=file)
            outputs = forward_each(list(zip(extractors, rows, strict=True)), frames, told)
            found = [(arrays, row_table(each)) for arrays, each in zip(outputs, rows, strict=True)]
        return [
            VideoFeatures(tensors=as_dtype(arrays, task.params.dtype), rows=rows)
            for task, (arrays, rows) in zip(group, found, strict=True)
        ]


def by_medium(tasks: Iterable[Task]) -> list[list[Task]]:
    """Tasks that one pass over a video serves: all that take frames, and all that take sound of one rate."""
    return _grouped(tasks, _medium)


def by_sampling(tasks: Iterable[Task]) -> list[list[Task]]:
    """Tasks that take the same frames, or sound of the same rate."""
    return _grouped(tasks, lambda task: [_medium(task), _frames_rule(task)])


def _grouped(tasks: Iterable[Task], rule: Callable[[Task], Any]) -> list[list[Task]]:
    key = {task.name: record_sha256(rule(task)) for task in tasks}
    ordered = sorted(tasks, key=lambda task: (key[task.name], task.name))
    return [list(group) for _, group in groupby(ordered, key=lambda task: key[task.name])]


def _medium(task: Task) -> str:
    return "frames" if task.facts.sound is None else f"sound {task.facts.sound.rate}"


def _frames_rule(task: Task) -> list[Any]:
    if task.facts.sound is not None:
        return []
    return [task.params.sampling.model_dump(), task.facts.lookahead]


@lru_cache(maxsize=1)
def _index(folder: Path, sha256: str) -> VideoIndex:
    """Read where it lies; a machine that shares only a cache has a copy there."""
    here = (folder / CHECKSUMS_FILE).is_file()
    return read_index(folder if here else bring_copy(f"index/{sha256}", files=FILES))


def failure_of(error: DecodeError, row: VideoRow) -> Failure:
    """Without the path: where a file lies changes no byte of a store."""
    return Failure(error.reason, error.message.replace(f"'{row.path}'", "the video"))
