"""The stage `extract`: every indexed video through one or more extractors, each into its feature store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from pipeline import extraction
from pipeline.cache import CachedFeatures, CachedShards, claimed, clear_unfinished, note_speed
from pipeline.core import (
    Changes,
    Console,
    DamageError,
    Derived,
    Executor,
    InputError,
    StageInputs,
    TooManyFailedError,
    cache_folder,
    no_changes,
    printable,
    record_sha256,
    unchanged,
)
from pipeline.extraction.disk_estimate import estimate, shortages
from pipeline.extraction.kept_videos import KeptVideos
from pipeline.extraction.slow_videos import slow_video_warning
from pipeline.extraction.task import Task, make_task
from pipeline.extraction.video_result import VideoResult
from pipeline.extraction.weights_content import weights_files
from pipeline.index import CHECKSUMS_FILE, FILES, VideoIndex, VideoRow, read_index
from pipeline.params import Extract
from pipeline.remote import offer_copy
from pipeline.store import Failure, write_store
from pipeline.weights import conditions, own_weights

ATTEMPTS = 5  # at an assembly whose cache entries vanish under it
NO_OTHERS: Mapping[str, Extract] = {}
MOST_SHOWN = 20  # failures in a table


def extract_features(
    params: Mapping[str, Extract],
    *,
    index: Path,
    outs: Mapping[str, Path],
    executor: Executor,
    device: str,
    console: Console,
    in_use: Changes = no_changes,
    others: Mapping[str, Extract] = NO_OTHERS,
) -> dict[str, Any]:
    """Publish the stores `outs` of the extractors `params`; what is computed is kept, however this ends.

    A pass over a video that is needed anyway also fills the cache for `others` that lack the video.
    """
    weights = [file for each in params.values() for file in weights_files(each.weights)]
    with unchanged([*(index / name for name in FILES), *weights], values=in_use) as inputs, claimed():
        summary, decoded = _extracted(
            params,
            index=index,
            outs=outs,
            executor=executor,
            device=device,
            console=console,
            inputs=inputs,
            others=others,
        )
    for name, facts in summary.items():
        counted = f"{facts['videos']} videos, {facts['computed']} computed, {facts['failed']} failed"
        console.say(f"{outs[name]}: {counted}")
    _check_failures(params, summary, outs=outs, console=console)
    shown = next(iter(summary.values())) if len(summary) == 1 else {"stores": summary}
    return {**shown, "decoded": decoded}


def _extracted(
    params: Mapping[str, Extract],
    *,
    index: Path,
    outs: Mapping[str, Path],
    executor: Executor,
    device: str,
    console: Console,
    inputs: StageInputs,
    others: Mapping[str, Extract],
) -> tuple[dict[str, dict[str, Any]], int]:
    videos = read_index(index)
    if not videos.rows:
        raise InputError(f"{index} has no usable video", hint="framescribe decode, and look at quarantine.jsonl")
    clear_unfinished()
    for condition in sorted({line for each in params.values() for line in conditions(each.weights)}):
        console.say(f"licence of the weights {condition}")
    hashes = {name: inputs.sha256[str(file)] for name, each in params.items() for file in weights_files(each.weights)}
    tasks = tuple(
        make_task(name, each, weights_sha256=hashes.get(name, each.weights), device=device)
        for name, each in params.items()
    )
    for name, each in params.items():
        if warning := slow_video_warning(name, each.sampling, videos.rows.values()):
            console.say(f"warning: {warning}")
    compute = _Compute(tasks, index, inputs.sha256[str(index / CHECKSUMS_FILE)], device, executor, console, others)
    stores = _assembled(compute, videos, outs=outs, last_check=inputs.require_unchanged)
    counts = compute.counts
    return {name: {**stores[name], "computed": counts[name]} for name in params}, counts["decoded"]


def _assembled(
    compute: _Compute, videos: VideoIndex, *, outs: Mapping[str, Path], last_check: Callable[[], None]
) -> dict[str, dict[str, Any]]:
    """Compute what is missing and write the stores from the cache; again, if someone cleared it meanwhile."""
    cache = KeptVideos(compute.tasks, videos)
    for _ in range(ATTEMPTS):
        kept = cache.look_up()
        _warn_of_small_disk(compute.tasks, videos, among=kept.changed, outs=outs, console=compute.console)
        failures = compute([videos.rows[video_id] for video_id in sorted(kept.missing)])
        try:
            return {
                task.name: _publish(
                    task,
                    videos.rows,
                    failures[task.name],
                    cache.shards[task.name],
                    out=outs[task.name],
                    last_check=last_check,
                )
                for task in compute.tasks
            }
        except DamageError as error:
            lost = error.message
    raise DamageError(
        f"features vanish from the cache {cache_folder('features')} before their store is written,"
        f" {ATTEMPTS} times in a row; the last time: {lost}",
        hint="stop what empties that folder, or set FRAMESCRIBE_CACHE to another disk, then run the same command",
    )


@dataclass
class _Compute:
    """Videos through the executor; it counts what was computed, of all attempts together."""

    tasks: tuple[Task, ...]
    index: Path
    index_sha256: str
    device: str
    executor: Executor
    console: Console
    others: Mapping[str, Extract]  # guests of the passes
    counts: Counter[str] = field(default_factory=Counter)  # of tasks, and of passes over a video

    def __call__(self, rows: list[VideoRow]) -> dict[str, dict[str, Failure]]:
        """What failed: task -> video -> why. All else is in the cache."""
        failures: dict[str, dict[str, Failure]] = {task.name: {} for task in self.tasks}
        if not rows:
            return failures
        results, began = [], monotonic()
        with self.console.progress(f"extract {' '.join(task.name for task in self.tasks)}", len(rows)) as progress:
            for result in self.executor.map(self._work(), rows):
                results.append(result)
                for name, failure in result.failures.items():
                    failures[name][result.video_id] = failure
                self._tell(result)
                progress.advance(note=printable(result.video_id))
        _note_speeds(self.tasks, results, rows, seconds=monotonic() - began)
        return failures

    def _work(self) -> Callable[[VideoRow], VideoResult]:
        """Torch is imported here, and only now: where the cache has everything, nobody waits for it."""
        offer_copy(self.index, name=f"index/{self.index_sha256}")
        return extraction.ExtractVideo(
            self.tasks, index=self.index, index_sha256=self.index_sha256, device=self.device, others=self.others
        )

    def _tell(self, result: VideoResult) -> None:
        self.counts.update(result.computed, decoded=result.decoded)
        for name, failure in result.failures.items():
            self.console.say(f"{name}: {printable(result.video_id)} failed: {failure.reason}")


def _note_speeds(tasks: Iterable[Task], results: list[VideoResult], rows: list[VideoRow], *, seconds: float) -> None:
    frames = {row.id: row.frames for row in rows}
    for task in tasks:
        computed = [frames[result.video_id] for result in results if task.name in result.computed]
        note_speed(record_sha256(task.record), videos=len(computed), frames=sum(computed), seconds=seconds)


def _publish(
    task: Task,
    rows: Mapping[str, VideoRow],
    failures: Mapping[str, Failure],
    shards: CachedShards,
    *,
    out: Path,
    last_check: Callable[[], None],
) -> dict[str, Any]:
    done = dict.fromkeys(video_id for video_id in rows if video_id not in failures)
    write_store(
        out,
        CachedFeatures(Derived(done, lambda video_id: task.key_of(rows[video_id]))),
        fingerprint=task.record,
        failures=failures,
        origins=Derived(done, lambda video_id: task.origin_of(rows[video_id])),
        own_weights=own_weights(task.params.weights),
        place_shard=shards.place,
        last_check=last_check,
    )
    return {"store": str(out), "videos": len(done), "failed": len(failures), "failures": failures}


def _warn_of_small_disk(
    tasks: tuple[Task, ...], videos: VideoIndex, *, among: Collection[str], outs: Mapping[str, Path], console: Console
) -> None:
    for warning in shortages([estimate(task, videos, among=among, out=outs[task.name]) for task in tasks]):
        console.say(f"warning: {warning}")


def _check_failures(
    params: Mapping[str, Extract], summary: dict[str, dict[str, Any]], *, outs: Mapping[str, Path], console: Console
) -> None:
    """All stores are written by now; a table tells of every failure, an error only of too many."""
    worst: tuple[str, dict[str, Failure]] | None = None
    for name, facts in summary.items():
        failures: dict[str, Failure] = dict(sorted(facts["failures"].items()))
        facts["failures"] = {video_id: failure.reason for video_id, failure in failures.items()}
        if failures:
            shown = [(printable(video_id), each.reason, each.message) for video_id, each in failures.items()]
            console.table((f"{name}: failed", "reason", "what"), shown[:MOST_SHOWN])
        if len(failures) > params[name].max_failed:
            worst = worst or (name, failures)
    if worst is not None:
        name, failures = worst
        first = next(printable(f"{video_id}: {failure}") for video_id, failure in failures.items())
        raise TooManyFailedError(
            f"{len(failures)} videos failed, {params[name].max_failed} allowed; first: {first}",
            hint=f"framescribe store ls {outs[name]} --failed, or raise extract.{name}.max_failed",
        )
