"""The stage `caption`: a sentence per video of a split, by one run or an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.captioning.shards import CaptionShard, Spoken, shards_of, worth_it
from pipeline.core import Console, Executor, write_json
from pipeline.data import read_corpus
from pipeline.params import Caption
from pipeline.results import looks_path, read_record, write_looks


def caption_runs(
    speakers: Mapping[str, Sequence[Path]],
    *,
    captions: Path,
    outs: Mapping[str, Path],
    params: Caption,
    executor: Executor,
    device: str,
    console: Console,
) -> dict[str, dict[str, Any]]:
    """Each speaker is the folder of a run, or of several that speak as one; its file is there as soon as it is done."""

    for folder in (folder for each in speakers.values() for folder in each):
        read_record(folder)  # a missing run is told first
    video_ids = read_corpus(captions).splits[params.split]
    shards = {name: list(shards_of(name, folders, video_ids)) for name, folders in speakers.items()}
    waiting = [shard for each in shards.values() for shard in each]
    spoken: dict[str, list[Spoken]] = {name: [] for name in speakers}
    summaries = {}
    with console.progress(f"caption {' '.join(speakers)}", len(video_ids) * len(speakers)) as progress:
        for one in worth_it(executor, waiting, device=device).map(CaptionShard(params, device), waiting):
            spoken[one.name].append(one)
            progress.advance(len(one.predictions), note=one.name)
            if len(spoken[one.name]) == len(shards[one.name]):
                summaries[one.name] = _publish(spoken.pop(one.name), split=params.split, out=outs[one.name])
    for name, facts in summaries.items():
        console.say(f"{outs[name]}: {facts['videos']} sentences, {facts['distinct']} of them distinct")
    return {name: summaries[name] for name in speakers}


def _publish(spoken: Sequence[Spoken], *, split: str, out: Path) -> dict[str, Any]:

    ordered = sorted(spoken, key=lambda one: one.number)
    predictions = {video: said for one in ordered for video, said in one.predictions.items()}
    name = ordered[0].name
    write_looks(looks_path(out), {video: looks for one in ordered for video, looks in one.looks.items()})
    write_json(out, {"run": name, "split": split, "looks": ordered[0].facts, "predictions": predictions})
    distinct = len({said["caption"] for said in predictions.values()})
    return {"run": name, "videos": len(predictions), "distinct": distinct}
