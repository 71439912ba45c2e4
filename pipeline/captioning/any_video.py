"""Captions for any videos, by the stages that made the run: guarded decoding, its own extractors, beam search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Any

from pipeline.captioner import GeneratedCaption, caption_videos, open_features, open_run
from pipeline.captioning.attention_geometry import AttentionGeometry
from pipeline.captioning.chosen_search import chosen_search
from pipeline.captioning.extractable import require_extractable
from pipeline.captioning.likeness import Likeness, likeness_of
from pipeline.captioning.read_once import read_once
from pipeline.core import Console, Executor, printable, write_sealed_json
from pipeline.decoding import index_of_own
from pipeline.extraction import extract
from pipeline.index import VideoIndex
from pipeline.params import Caption, Decode, Extract, pick
from pipeline.predictions import AttentionMaps, without_attention
from pipeline.runs import read_record
from pipeline.store import open_store

NO_REPEAT = 3  # words: 0.3 % of MSR-VTT's captions say three words twice, 2.3 % two words ("a man ... a man")


@dataclass(frozen=True)
class Captioned:
    captions: dict[str, GeneratedCaption]
    refused: dict[str, str]  # video -> why there is no caption
    index: VideoIndex
    record: dict[str, Any]  # the run's own
    attention: dict[str, AttentionMaps]
    facts: dict[str, Any]  # what the attention maps of all videos share
    likeness: dict[str, Likeness] = field(default_factory=dict)  # to the training clips, where that is known


@dataclass(frozen=True, kw_only=True)
class AnyVideoSettings:
    """What the run's own project says; `work` is a folder for the index and the stores of these videos."""

    extractors: Mapping[str, Extract]
    decode: Decode
    caption: Caption
    executor: Executor
    device: str
    work: Path
    captions: Path = Path("data/captions")  # whose training split judges in a consensus


def caption_own_videos(
    videos: Sequence[str], *, run: str, out: Path | None, settings: AnyVideoSettings, console: Console
) -> Captioned:
    """Videos and folders of them, captioned, shown and, with `out`, written as JSON."""
    within = console.without(str(settings.work))
    captioned = _captioned(videos, Path("runs") / run, settings=settings, console=within)
    if out is not None:
        write_sealed_json(out, {"run": run, "predictions": without_attention(captioned.captions)})
    rows = [(printable(id_), f"{exp(each.log_prob):.3f}", each.caption) for id_, each in captioned.captions.items()]
    rows += [(printable(id_), "-", printable(why)) for id_, why in captioned.refused.items()]
    console.table(("video", "probability", "caption"), rows)
    for id_, likeness in captioned.likeness.items():
        if likeness.unlike:
            console.say(f"{printable(id_)}: {likeness.told()}")
    if settings.caption.first_reading:
        _tell_first_readings(run, captioned.captions, console)
    return captioned


def _tell_first_readings(run: str, captions: Mapping[str, GeneratedCaption], console: Console) -> None:
    found = {id_: each.first_reading for id_, each in captions.items() if each.first_reading is not None}
    if found:
        console.table(("video", "after the first reading"), [(printable(id_), text) for id_, text in found.items()])
    elif captions:
        console.say(read_once(run))


def _captioned(videos: Sequence[str], run: Path, *, settings: AnyVideoSettings, console: Console) -> Captioned:
    """A caption for each video that can be used; the others with their reason."""
    record = read_record(run)
    require_extractable(record, run, extractors=settings.extractors)
    index = index_of_own(videos, out=settings.work / "index", params=settings.decode, console=console)
    refused = {id_: f"{row.reason}: {row.message}" for id_, row in index.quarantined.items()}
    refused |= _extracted(record, settings=settings, console=console)
    trained = open_run(run, device=settings.device, features=settings.work / "features")
    usable = [video_id for video_id in index.rows if video_id not in refused]
    needs_training = settings.caption.search == "consensus" and settings.caption.neighbours
    search = chosen_search(
        without_loops(settings.caption),
        vocabulary=trained.vocabulary,
        captions=settings.captions,
        training=open_features(trained.params.features, trained.source.inputs) if needs_training else trained.source,
        own=trained.source,
    )
    with console.progress("search", len(usable)) as progress:
        generated = caption_videos(
            trained.model,
            trained.source,
            usable,
            vocabulary=trained.vocabulary,
            search=search,
            first_reading=settings.caption.first_reading,
            device=settings.device,
            progress=progress,
        )
    geometry = AttentionGeometry(trained.model, trained.source)
    maps = {video_id: geometry.attention_maps(video_id, each.attention) for video_id, each in generated.items()}
    likeness = likeness_of(trained, record, usable)
    return Captioned(generated, refused, index, record, maps, geometry.facts(), likeness)


def without_loops(caption: Caption) -> Caption:
    """Clips far from the training set make sentences that go in circles; the graph's stage has no rule unasked."""
    return caption if caption.no_repeat is not None else caption.model_copy(update={"no_repeat": NO_REPEAT})


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
