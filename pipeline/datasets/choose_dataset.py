"""Checking a data set without decoding it, and pointing params.yaml at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, InputError
from pipeline.corpus import told_subset
from pipeline.datasets.annotations import Annotations
from pipeline.datasets.kept_words import require_words, told_cut
from pipeline.datasets.loading import load_annotations
from pipeline.datasets.matching import Match, match_videos, require_match
from pipeline.datasets.plain_folder import FILL_IN, TABLE, has_captions, write_empty_table
from pipeline.datasets.small_set import fit_settings, outgrown
from pipeline.datasets.subset import fill_empty_splits, moved
from pipeline.decoding import find_videos
from pipeline.params import PARAMS_FILE, Dataset, Subset, edit_params, insert, load_params
from pipeline.remote import SUFFIX, is_url, write_listing

Splits = Mapping[str, Sequence[str]]


def use_dataset(values: dict[str, Any], console: Console) -> dict[str, Any]:
    """Check the data set, then rewrite its section of params.yaml; of videos at a URL a list is written."""
    chosen = {**values, "videos": _listed(values["videos"], Path(f"{values['name']}{SUFFIX}"), console)}
    dataset = Dataset.model_validate(chosen)
    if dataset.name == "folder" and _is_without_captions(dataset, console):
        summary: dict[str, Any] = {"dataset": dataset.model_dump(), "files": len(find_videos(dataset.videos))}
        captions: list[int] = []
        filled = f"{FILL_IN} of {dataset.annotations}, then this command again, and dvc repro"
        next_step = f"dvc repro extract makes features; to train, {filled}"
    else:
        summary, captions = _checked(dataset, console)
        next_step = "dvc repro"
    for told in outgrown(load_params().train, captions=captions):
        console.say(told)
    fitted = _rewrite(chosen, captions=captions if dataset.subset else [])
    if fitted:
        console.say(f"{PARAMS_FILE}: settings that fit {sum(captions)} training captions:")
        console.say("\n".join(f"  {each}" for each in fitted))
    console.say(f"{PARAMS_FILE}: dataset is now {chosen['name']}; next: {next_step}")
    return {**summary, "fitted": fitted}


def _is_without_captions(dataset: Dataset, console: Console) -> bool:
    """Features need none. The graph follows the file, so it must be there: a line for every video."""
    table = Path(dataset.annotations)
    if not table.exists():
        videos = find_videos(dataset.videos)
        _refuse_another_table(table, beside=Path(dataset.videos) / TABLE)
        write_empty_table(table, videos)
        console.say(f"{table}: written, a line for each of {len(videos)} videos, without captions")
    return not has_captions(table)


def _refuse_another_table(table: Path, *, beside: Path) -> None:
    """An empty table in the place of one that was mistyped or overlooked would hide its captions."""
    if table != Path(TABLE):
        raise InputError(f"there is no {table}", hint=f"without --annotations {TABLE} is written, to be filled in")
    if beside.is_file():
        raise InputError(
            f"there is no {table}, and beside the videos lies {beside}",
            hint=f"move it here, or name it: framescribe dataset use folder ... --annotations {beside}",
        )


def show_dataset(dataset: Dataset, console: Console) -> dict[str, Any]:
    """Everything that can be known without decoding; the same rules as the assemble stage."""
    return _checked(dataset, console)[0]


def splits_in_use(dataset: Dataset, annotations: Annotations) -> Splits:
    """As the assemble stage will divide the videos: of a subset those that have a file, with no split empty."""
    if dataset.subset is None:
        return annotations.splits
    match = match_videos(annotations, find_videos(dataset.videos))
    return fill_empty_splits(_with_file(annotations, match), dataset.subset)


def _with_file(annotations: Annotations, match: Match) -> dict[str, list[str]]:
    return {split: [id_ for id_ in ids if id_ in match.files] for split, ids in annotations.splits.items()}


def _checked(dataset: Dataset, console: Console) -> tuple[dict[str, Any], list[int]]:
    """What is there, and how many captions each video has that would be trained on."""
    files = find_videos(dataset.videos)
    annotations = load_annotations(dataset)
    match = match_videos(annotations, files)
    where = f"{dataset.annotations} and {dataset.videos}"
    require_match(match, annotations, dataset=dataset, where=where)
    present = _with_file(annotations, match)
    counts = {split: {**count, "with_file": len(present[split])} for split, count in annotations.counts.items()}
    used = fill_empty_splits(present, dataset.subset) if dataset.subset else present
    if dataset.subset:
        for split, ids in used.items():
            counts[split]["used"] = len(ids)
    _show(dataset, counts, left_over="" if match.complete else match.problem, console=console)
    if dataset.subset:
        _say_subset(dataset.subset, present, used, console)
    captions = {id_: annotations.captions[id_] for ids in used.values() for id_ in ids}
    words = load_params().assemble.words
    require_words(captions, words=words)
    if cut := told_cut(captions, words=words):
        console.say(cut)
    trained_on = [len(annotations.captions[id_]) for id_ in used["train"]]
    return {"dataset": dataset.model_dump(), "files": len(files), "splits": counts}, trained_on


def _say_subset(subset: Subset, own: Splits, used: Splits, console: Console) -> None:
    videos = sum(map(len, used.values()))
    console.say(told_subset(**subset.model_dump(), moved=len(moved(own, used)), videos=videos))


def _listed(videos: str, listing: Path, console: Console) -> str:
    """Of a URL a list of what lies there, which DVC can follow; a folder stands for itself."""
    if not is_url(videos):
        return videos
    count = write_listing(videos, listing)
    console.say(f"{listing}: {count} objects below {videos}; keep it in git, and run this again when they change")
    return str(listing)


def _show(dataset: Dataset, counts: dict[str, dict[str, int]], *, left_over: str, console: Console) -> None:
    console.say("\n".join(f"{key:<12} {value}" for key, value in dataset.model_dump(exclude_none=True).items()))
    names = {"videos": "videos", "with_file": "with a file", "used": "used", "captions": "captions"}
    columns = {key: name for key, name in names.items() if key in counts["train"]}
    rows = [[split, *(count[key] for key in columns)] for split, count in counts.items()]
    console.table(["split", *columns.values()], rows)
    if left_over:
        console.say(f"left out: {left_over}")
    if not counts["test"].get("used", counts["test"]["videos"]):
        console.say("there are no test captions: set caption.split to val in params.yaml")


def _rewrite(values: dict[str, Any], *, captions: Sequence[int]) -> list[str]:
    """Change the dataset section, and what does not fit so few captions; comments and all other values stay."""
    fitted: list[str] = []

    def change(document: Any) -> None:
        if captions:
            fitted.extend(fit_settings(document, load_params(), captions=captions))
        section = document["dataset"]
        for key, value in values.items():
            if key in section and value is None:
                del section[key]
            elif key in section:
                section[key] = value
            elif value != Dataset.model_fields[key].default:
                insert(section, key, value)

    edit_params(change)
    return fitted
