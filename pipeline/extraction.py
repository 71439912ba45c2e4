"""The work of the `extract` stage on one video: sample, decode once, prepare, forward, remember."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from extractors.base import AudioExtractor, Extractor, ExtractorError, MissingPackageError
from extractors.engines import Engine, Precision
from pipeline import hearing, sampling
from pipeline.cache import get_features, put_features
from pipeline.decoding import DecodeError, read_frames
from pipeline.decoding.opening import opened
from pipeline.engines import require_engine, with_engine
from pipeline.errors import InputError, MissingToolError, UsageError
from pipeline.families import beyond_of, can_resize, code_of, family_module, family_options
from pipeline.fingerprint import fingerprint, video_record
from pipeline.forwarding import forward_all
from pipeline.hashing import file_sha256, record_sha256
from pipeline.index import FILES, INDEX_FILE, VideoIndex, VideoRow, read_index
from pipeline.memory import keep_freed_memory
from pipeline.objects.shared import bring_copy
from pipeline.objects.spool import at_hand
from pipeline.params import Extract
from pipeline.store import Failure, Rows, VideoFeatures
from pipeline.weights import (
    NONE,
    RANDOM,
    WEIGHTS_FOLDER,
    WITHOUT_FILE,
    converted_path,
    fitting_options,
    load_weights,
    missing,
    status,
)

WINDOWED = ("clips", "video")  # kinds whose rows are made of several frames


@dataclass(frozen=True)
class Task:
    """One extractor of a pass over the videos, and the record of all that decides its features."""

    name: str
    params: Extract
    record: dict[str, Any] = field(hash=False)

    def record_of(self, row: VideoRow) -> dict[str, Any]:
        return video_record(self.record, sha256=row.sha256, backend=row.backend)

    def origin_of(self, row: VideoRow) -> dict[str, Any]:
        """What a store says about a video; of one without sound, that it has none."""
        sound = {"sound": hearing.sound_state(row)} if self.params.sampling.hop is not None else {}
        return {"sha256": row.sha256, "decoder": row.backend, **sound}


@dataclass(frozen=True)
class Result:
    """What became of one video: names and keys only, the features themselves are in the cache."""

    video_id: str
    keys: dict[str, str]  # task -> key of the entry
    failures: dict[str, Failure]  # task -> reason
    computed: tuple[str, ...] = ()  # tasks
    decoded: int = 0  # passes over the video's frames


def make_task(name: str, params: Extract, *, weights_sha256: str, device: str) -> Task:
    """The extractor is built here as well, on the CPU: preprocessing travels with it."""
    require_engine(params.engine, params.precision, device=device)
    extractor = extractor_of(params, device="cpu")
    weights = params.weights if params.weights in WITHOUT_FILE else weights_sha256
    code = code_of(params.family)
    record = fingerprint(params, weights=weights, preprocessing=extractor.preprocessing, code=code, device=device)
    return Task(name, params, record)


@contextmanager
def unchanged_weights(name: str) -> Iterator[str]:
    """The sha256 of the weights file; DVC hashes it only after the command, so it must still be the same then."""
    if name in WITHOUT_FILE:
        yield name
        return
    if (state := status(name)) != "present":
        raise missing(name, state=state, folder=WEIGHTS_FOLDER)
    before = file_sha256(converted_path(name))
    yield before
    if file_sha256(converted_path(name)) != before:
        raise InputError(f"{converted_path(name)} changed while features were computed", hint="run the stage again")


@dataclass(frozen=True)
class ExtractVideo:
    """A picklable piece of work: the executor sends it once, then video after video."""

    tasks: tuple[Task, ...]
    index: Path = field(kw_only=True)
    index_sha256: str = field(kw_only=True)  # a worker may live longer than an index
    device: str = field(kw_only=True)

    def __call__(self, row: VideoRow) -> Result:
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
        return Result(row.id, done, failures, computed, decoded=len(groups))

    def give_up(self, row: VideoRow, why: str) -> Result:
        return Result(row.id, {}, {task.name: Failure("worker-lost", why) for task in self.tasks})

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
        listeners = [extractor for extractor in extractors if isinstance(extractor, AudioExtractor)]
        if listeners:  # a group takes sound, or it takes pictures
            found = hearing.hear_all(listeners, [task.params.sampling for task in group], row=row, times=times)
        else:
            rows = frame_rows(group[0].params, row=row, times=times)
            outputs = forward_all(extractors, read_frames(row, rows.needed), rows=rows)
            found = [(arrays, row_table(rows)) for arrays in outputs]
        return [
            VideoFeatures(tensors={name: array.astype(task.params.dtype) for name, array in arrays.items()}, rows=rows)
            for task, (arrays, rows) in zip(group, found, strict=True)
        ]


def frame_rows(params: Extract, *, row: VideoRow, times: np.ndarray) -> sampling.Rows:
    return sampling.sample(params.sampling, frames=row.frames, times=times, beyond=beyond_of(params.family))


def by_sampling(tasks: Iterable[Task]) -> list[list[Task]]:
    """Tasks that take the same frames, or sound of the same rate, together: their video is decoded once."""
    rule = {task.name: _decoded_for(task.params) for task in tasks}
    ordered = sorted(tasks, key=lambda task: (rule[task.name], task.name))
    return [list(group) for _, group in groupby(ordered, key=lambda task: rule[task.name])]


def _decoded_for(params: Extract) -> str:
    family = family_module(params.family)
    if family.TAKES == "audio":
        return f"sound {family.RATE}"
    return record_sha256([params.sampling.model_dump(), beyond_of(params.family)])


def require_unchanged(row: VideoRow) -> None:
    """Features are kept under the content's hash, so the content must be the one that was indexed."""
    try:
        with at_hand(row.path) as local, opened(local) as name:
            found = file_sha256(Path(name))
    except OSError as error:
        raise DecodeError("unreadable", f"'{row.path}': {error.strerror}") from error
    if found != row.sha256:
        raise DecodeError("changed", f"'{row.path}' is not the file that was indexed", hint="framescribe decode")


def failure_of(error: DecodeError, row: VideoRow) -> Failure:
    """Without the path: where a file lies changes no byte of a store."""
    return Failure(error.reason, error.message.replace(f"'{row.path}'", "the video"))


@lru_cache(maxsize=1)
def _index(folder: Path, sha256: str) -> VideoIndex:
    """Read where it lies; a machine that shares only a cache has a copy there."""
    here = (folder / INDEX_FILE).is_file()
    return read_index(folder if here else bring_copy(f"index/{sha256}", files=FILES))


def row_count(params: Extract, *, row: VideoRow, times: np.ndarray) -> int:
    """Rows that a video will have, known before anything is decoded."""
    extractor = extractor_of(params, device="cpu")
    if isinstance(extractor, AudioExtractor):
        return len(hearing.window_starts(extractor, params.sampling, duration=row.duration))
    return len(frame_rows(params, row=row, times=times))


def extractor_of(params: Extract, *, device: str) -> Extractor:
    takes, window = family_module(params.family).TAKES, params.sampling.window
    is_audio, is_windowed = takes == "audio", takes in WINDOWED
    if (is_audio, is_windowed) != (params.sampling.hop is not None, window is not None):
        rule = "hop" if is_audio else "window and stride" if is_windowed else "every, count or fps"
        raise UsageError(f"'{params.family}' takes {takes}: its sampling must give {rule}")
    if takes == "video" and (params.sampling.stride, params.sampling.tail) != (window, "pad"):
        raise UsageError(f"'{params.family}' takes the whole video: its sampling must give stride {window}, tail pad")
    settings = {**options_of(params), **({} if window is None else {"window": window})}
    names = params.family, params.network, tuple(params.outputs), params.weights
    return load_extractor(*names, device, params.engine, params.precision, params.resize, **settings)


def options_of(params: Extract) -> dict[str, Any]:
    """Those in params.yaml, and before them what the weights ask for, of a family that has it."""
    known = family_options(params.family)
    asked = {name: value for name, value in fitting_options(params.weights).items() if name in known}
    return {**asked, **params.options}


@cache
def load_extractor(
    family: str,
    network: str,
    outputs: tuple[str, ...],
    weights: str,
    device: str,
    engine: Engine,
    precision: Precision,
    resize: str,
    **settings: Any,
) -> Extractor:
    """Built once per worker process, on one thread: workers share the cores, and their number changes no bit."""
    import torch

    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # by default a GPU's convolutions keep ten bits of every float32
    keep_freed_memory()
    build = family_module(family).build
    require_known_options(family, settings)
    require_engine(engine, precision, device=device)
    chosen = resize_option(family, resize)
    state = state_of(weights)
    try:
        extractor = build(network, outputs=outputs, weights=state, device=device, **settings, **chosen)
    except MissingPackageError as error:
        raise MissingToolError(str(error), hint=f"pip install 'framescribe[{error.extra}]'") from error
    except ExtractorError as error:
        raise UsageError(str(error)) from error
    record = {"family": family, "network": network, "outputs": outputs, "settings": settings, "engine": engine}
    return with_engine(extractor, engine, precision, weights=weights, record=record)


def state_of(weights: str) -> dict[str, Any] | None:
    """None for an untrained network; the empty state of `none` fits only what has no weights."""
    if weights == RANDOM:
        return None
    return {} if weights == NONE else load_weights(weights)


def require_known_options(family: str, settings: Mapping[str, Any]) -> None:
    known = family_options(family)
    unknown = [name for name in settings if name not in {*known, "window"}]
    if unknown:
        raise UsageError(f"'{family}' has no option {', '.join(unknown)}; it has: {', '.join(known) or 'none'}")


def resize_option(family: str, resize: str) -> dict[str, str]:
    """The argument of `build`, which says itself what the published way is."""
    if resize == "published":
        return {}
    if not can_resize(family):
        raise UsageError(
            f"'{family}' cannot be told how to resize frames (resize: {resize})",
            hint=f"remove resize: {resize}; docs/extractors.md names the families that can be",
        )
    return {"resize": resize}


def row_table(rows: sampling.Rows) -> Rows:
    return Rows(first_frame=rows.first, last_frame=rows.last, start=rows.start, end=rows.end, valid=rows.valid)
