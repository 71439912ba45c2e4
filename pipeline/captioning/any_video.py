"""Captions for any videos, by the stages that made the run: guarded decoding, its own extractors, beam search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from pipeline.captioner import GeneratedCaption, Search, caption_videos, open_run
from pipeline.captioning.attention_geometry import AttentionGeometry
from pipeline.core import Console, Executor, InputError, UsageError, printable, write_sealed_json
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.index import VideoIndex, read_index
from pipeline.params import Caption, Decode, Extract, pick
from pipeline.predictions import AttentionMaps, without_attention
from pipeline.runs import read_record
from pipeline.store import open_store


@dataclass(frozen=True)
class Captioned:
    captions: dict[str, GeneratedCaption]
    refused: dict[str, str]  # video -> why there is no caption
    index: VideoIndex
    record: dict[str, Any]  # the run's own
    attention: dict[str, AttentionMaps]
    facts: dict[str, Any]  # what the attention maps of all videos share


@dataclass(frozen=True, kw_only=True)
class AnyVideoSettings:
    """What the run's own project says; `work` is a folder for the index and the stores of these videos."""

    extractors: Mapping[str, Extract]
    decode: Decode
    caption: Caption
    executor: Executor
    device: str
    work: Path


def caption_own_videos(
    videos: Sequence[str], *, run: str, out: Path | None, settings: AnyVideoSettings, console: Console
) -> Captioned:
    """Videos and folders of them, captioned, shown and, with `out`, written as JSON."""
    captioned = _captioned([Path(each) for each in videos], Path("runs") / run, settings=settings, console=console)
    if out is not None:
        write_sealed_json(out, {"run": run, "predictions": without_attention(captioned.captions)})
    rows = [(printable(id_), f"{exp(each.log_prob):.3f}", each.caption) for id_, each in captioned.captions.items()]
    rows += [(printable(id_), "-", printable(why)) for id_, why in captioned.refused.items()]
    console.table(("video", "probability", "caption"), rows)
    return captioned


def _captioned(videos: Sequence[Path], run: Path, *, settings: AnyVideoSettings, console: Console) -> Captioned:
    """A caption for each video that can be used; the others with their reason."""
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
    generated = caption_videos(
        trained.model,
        trained.source,
        usable,
        vocabulary=trained.vocabulary,
        search=Search.of(settings.caption),
        device=settings.device,
    )
    geometry = AttentionGeometry(trained.model, trained.source)
    maps = {video_id: geometry.attention_maps(video_id, each.attention) for video_id, each in generated.items()}
    return Captioned(generated, refused, index, record, maps, geometry.facts())


def _decoded(videos: Sequence[Path], *, settings: AnyVideoSettings, console: Console) -> VideoIndex:
    out = settings.work / "index"
    every = settings.decode.model_copy(update={"max_failed": 10**9})  # a bad file costs itself
    decode.decode_videos(videos=videos, out=out, params=every, console=console)
    index = read_index(out)
    if not index.rows:
        reasons = "; ".join(printable(f"{id_}: {row.message}") for id_, row in index.quarantined.items())
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
