"""The stage `caption`: a caption per video of a split, by one run or an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.captioning.read_once import read_once
from pipeline.captioning.shards import CaptionShard, ShardPredictions, shards_of, worth_it
from pipeline.core import (
    Changes,
    Console,
    Executor,
    InputError,
    StageInputs,
    UsageError,
    named,
    no_changes,
    unchanged,
    write_sealed_json,
)
from pipeline.corpus import read_corpus
from pipeline.params import Caption, Params, params_in_use, pick
from pipeline.predictions import (
    attention_maps_path,
    prediction_name,
    read_ids,
    write_attention_maps,
    write_caption_origin,
)
from pipeline.runs import read_record
from pipeline.store import FEATURES, MANIFEST, open_store


def caption_named_runs(
    names: Sequence[str],
    *,
    each: bool,
    split: str | None = None,
    ids: Path | None = None,
    captions: Path,
    out: Path | None,
    params: Params,
    executor: Executor,
    device: str,
    console: Console,
) -> dict[str, Any]:
    """With the runs as an ensemble, or with `each` by itself; other videos than the stage's have files of their own."""
    _require_runs(names, params)
    groups = [[name] for name in names] if each else [names]
    chosen = split or (ids.stem if ids else "")
    folders = {
        prediction_name("+".join(group), videos=chosen): [Path("runs") / name for name in group] for group in groups
    }
    if out is not None and len(folders) > 1:
        raise UsageError("--out is the file of one run; with --each they are predictions/RUN.json")
    summaries = caption_runs(
        folders,
        captions=captions,
        outs={name: out or Path("predictions") / f"{name}.json" for name in folders},
        params=params.caption.model_copy(update={"split": split}) if split else params.caption,
        ids=ids,
        executor=executor,
        device=device,
        console=console,
        in_use=params_in_use(params, "caption"),
    )
    return {"runs": summaries} if each else next(iter(summaries.values()))


def _require_runs(names: Sequence[str], params: Params) -> None:
    for name in names:
        if (Path("runs") / name / "run.json").is_file():  # a seed of a run is no entry of params.yaml
            continue
        if name not in params.train and Path(name).exists():
            raise UsageError(f"{name} is no run", hint=f"for videos: framescribe caption {name} --run RUN")
        pick(params.train, name, kind="run")


def caption_runs(
    runs: Mapping[str, Sequence[Path]],
    *,
    captions: Path,
    outs: Mapping[str, Path],
    params: Caption,
    ids: Path | None = None,
    executor: Executor,
    device: str,
    console: Console,
    in_use: Changes = no_changes,
) -> dict[str, dict[str, Any]]:
    """By name the folder of a run, or those of an ensemble; its file is there as soon as it is done."""
    folders = [folder for folders in runs.values() for folder in folders]
    listed = [ids] if ids else []
    with unchanged([captions, *listed, *files_read(folders)], values=in_use) as inputs:  # a missing run comes first
        summaries = _captioned(
            runs,
            captions=captions,
            outs=outs,
            params=params,
            ids=ids,
            executor=executor,
            device=device,
            console=console,
            inputs=inputs,
        )
    for name, facts in summaries.items():
        console.say(f"{outs[name]}: {facts['videos']} captions, {facts['distinct']} of them distinct")
        if facts.get("first_readings") == 0 < facts["videos"]:
            console.say(read_once(name))
    return {name: summaries[name] for name in runs}


def files_read(folders: Sequence[Path]) -> list[Path]:
    """The runs, and the stores that they read, by their manifests."""
    return [*folders, *(FEATURES / store / MANIFEST for store in stores_of(folders))]


def stores_of(folders: Sequence[Path]) -> list[str]:
    return sorted({facts["store"] for folder in folders for facts in read_record(folder)["features"].values()})


def listed_in_stores(ids: Path, folders: Sequence[Path], *, console: Console) -> list[str]:
    """Of the videos that the file lists those that all stores have; how many they lack is told."""
    listed = read_ids(ids)
    stores = [open_store(FEATURES / name) for name in stores_of(folders)]
    found = [id_ for id_ in listed if all(id_ in store for store in stores)]
    lacking = [id_ for id_ in listed if id_ not in set(found)]
    where = ", ".join(str(store.folder) for store in stores)
    if not found:
        raise InputError(f"{ids}: none of its {len(listed)} videos is in {where}", hint=f"framescribe store ls {where}")
    if lacking:
        console.say(f"{ids}: {len(lacking)} of {len(listed)} videos are not in {where}: {named(lacking)}")
    return found


def _captioned(
    runs: Mapping[str, Sequence[Path]],
    *,
    captions: Path,
    outs: Mapping[str, Path],
    params: Caption,
    ids: Path | None,
    executor: Executor,
    device: str,
    console: Console,
    inputs: StageInputs,
) -> dict[str, dict[str, Any]]:
    split = ids.stem if ids else params.split
    videos = {
        name: listed_in_stores(ids, folders, console=console) if ids else read_corpus(captions).splits[split]
        for name, folders in runs.items()
    }
    shards = {name: list(shards_of(name, folders, videos[name], captions=captions)) for name, folders in runs.items()}
    waiting = [shard for each in shards.values() for shard in each]
    done: dict[str, list[ShardPredictions]] = {name: [] for name in runs}
    summaries = {}
    with console.progress(f"caption {' '.join(runs)}", sum(map(len, videos.values()))) as progress:
        for one in worth_it(executor, waiting, device=device).map(CaptionShard(params, device, captions), waiting):
            done[one.name].append(one)
            progress.advance(len(one.predictions), note=one.name)
            if len(done[one.name]) == len(shards[one.name]):
                inputs.require_unchanged()
                summaries[one.name] = _publish(done.pop(one.name), params, split=split, out=outs[one.name])
                settings = params.deciding | {"split": split}
                write_caption_origin(outs[one.name], runs=runs[one.name], settings=settings)
    return summaries


def _publish(done: Sequence[ShardPredictions], params: Caption, *, split: str, out: Path) -> dict[str, Any]:
    ordered = sorted(done, key=lambda one: one.number)
    predictions = {video: entry for one in ordered for video, entry in one.predictions.items()}
    maps = {video: each for one in ordered for video, each in one.attention.items()}
    name = ordered[0].name
    write_attention_maps(attention_maps_path(out), maps)
    write_sealed_json(out, {"run": name, "split": split, "looks": ordered[0].facts, "predictions": predictions})
    distinct = len({entry["caption"] for entry in predictions.values()})
    summary = {"run": name, "videos": len(predictions), "distinct": distinct}
    if params.first_reading:
        summary["first_readings"] = sum("first_reading" in entry for entry in predictions.values())
    return summary
