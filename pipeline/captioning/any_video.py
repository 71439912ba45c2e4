"""Captions for any videos, by the stages that made the run: guarded decoding, its own extractors, beam search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.captioner import Said, caption_videos, open_run
from pipeline.captioning.geometry import Geometry
from pipeline.core import Console, Executor, InputError, UsageError
from pipeline.data import VideoIndex, read_index
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.params import Caption, Decode, Extract, pick
from pipeline.results import Looks, read_record
from pipeline.store import open_store


@dataclass(frozen=True)
class Captioned:
    said: dict[str, Said]
    refused: dict[str, str]  # video -> why there is no sentence
    index: VideoIndex
    record: dict[str, Any]  # the run's own
    looks: dict[str, Looks]  # video -> where each word of its sentence looked
    facts: dict[str, Any]  # what the looks of all videos share


@dataclass(frozen=True, kw_only=True)
class AnyVideoSettings:
    """What the run's own project says; `work` is a folder for the index and the stores of these videos."""

    extractors: Mapping[str, Extract]
    decode: Decode
    caption: Caption
    executor: Executor
    device: str
    work: Path


def caption_own(videos: Sequence[Path], *, run: Path, settings: AnyVideoSettings, console: Console) -> Captioned:
    """A sentence for each video that can be used; the others with their reason."""
    record = read_record(run)
    if any(facts["slot"] == "label" for facts in record["features"].values()):
        raise UsageError(
            f"'{run.name}' reads the class that the data set gives each video, and your own videos have none",
            hint="use a run whose features.label is none",
        )
    index = _decoded(videos, settings=settings, console=console)
    refused = {id_: f"{row.reason}: {row.message}" for id_, row in index.quarantined.items()}
    refused |= _extracted(record, settings=settings, console=console)
    trained = open_run(run, device=settings.device, features=settings.work / "features")
    usable = [video_id for video_id in index.rows if video_id not in refused]
    said = caption_videos(
        trained.model,
        trained.source,
        usable,
        vocabulary=trained.vocabulary,
        beam=settings.caption.beam,
        max_words=settings.caption.max_words,
        length_power=settings.caption.length_power,
        device=settings.device,
    )
    geometry = Geometry(trained.model, trained.source)
    looks = {video_id: geometry.looks(video_id, each.attention) for video_id, each in said.items()}
    return Captioned(said, refused, index, record, looks, geometry.facts())


def _decoded(videos: Sequence[Path], *, settings: AnyVideoSettings, console: Console) -> VideoIndex:
    out = settings.work / "index"
    every = settings.decode.model_copy(update={"max_failed": 10**9})  # a bad file costs itself
    decode.decode_videos(videos=videos, out=out, params=every, console=console)
    index = read_index(out)
    if not index.rows:
        reasons = "; ".join(f"{id_}: {row.message}" for id_, row in index.quarantined.items())
        raise InputError(f"none of these is a usable video ({reasons})")
    return index


def _extracted(record: Mapping[str, Any], *, settings: AnyVideoSettings, console: Console) -> dict[str, str]:
    """Make the stores that the run was trained on; the videos that an extractor failed on."""
    wanted = dict.fromkeys(facts["store"] for facts in record["features"].values())
    params = {
        name: pick(dict(settings.extractors), name, kind="extractor").model_copy(update={"max_failed": 10**9})
        for name in wanted
    }
    folder = settings.work / "features"
    extract.extract_features(
        params,
        index=settings.work / "index",
        outs={name: folder / name for name in wanted},
        executor=settings.executor,
        device=settings.device,
        console=console,
    )
    failed: dict[str, str] = {}
    for name in wanted:
        failures = open_store(folder / name).manifest["failures"]
        failed |= {id_: f"{facts['reason']} in {name}" for id_, facts in failures.items()}
    return failed
