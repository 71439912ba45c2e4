"""Checking a data set without decoding it, and pointing params.yaml at one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core import Console
from pipeline.datasets.loading import load_annotations
from pipeline.datasets.matching import match_videos, require_match
from pipeline.decoding import find_videos
from pipeline.params import PARAMS_FILE, Dataset, edit_params, insert
from pipeline.remote import SUFFIX, is_url, write_listing


def use_dataset(values: dict[str, str], console: Console) -> dict[str, Any]:
    """Check the data set, then rewrite its section of params.yaml; of videos at a URL a list is written."""
    chosen = {**values, "videos": _listed(values["videos"], Path(f"{values['name']}{SUFFIX}"), console)}
    summary = show_dataset(Dataset.model_validate(chosen), console)
    _rewrite(chosen)
    console.say(f"{PARAMS_FILE}: dataset is now {chosen['name']}; next: dvc repro")
    return summary


def show_dataset(dataset: Dataset, console: Console) -> dict[str, Any]:
    """Everything that can be known without decoding; the same rules as the assemble stage."""
    files = find_videos(dataset.videos)
    annotations = load_annotations(dataset)
    match = match_videos(annotations, files)
    where = f"{dataset.annotations} and {dataset.videos}"
    require_match(match, annotations, unmatched=dataset.unmatched, where=where)
    counts = {
        split: {**count, "with_file": sum(id_ in match.files for id_ in annotations.splits[split])}
        for split, count in annotations.counts.items()
    }
    _show(dataset, counts, left_over="" if match.complete else match.problem, console=console)
    return {"dataset": dataset.model_dump(), "files": len(files), "splits": counts}


def _listed(videos: str, listing: Path, console: Console) -> str:
    """Of a URL a list of what lies there, which DVC can follow; a folder stands for itself."""
    if not is_url(videos):
        return videos
    count = write_listing(videos, listing)
    console.say(f"{listing}: {count} objects below {videos}; keep it in git, and run this again when they change")
    return str(listing)


def _show(dataset: Dataset, counts: dict[str, dict[str, int]], *, left_over: str, console: Console) -> None:
    console.say("\n".join(f"{key:<12} {value}" for key, value in dataset.model_dump().items()))
    rows = [[split, count["videos"], count["with_file"], count["captions"]] for split, count in counts.items()]
    console.table(["split", "videos", "with a file", "captions"], rows)
    if left_over:
        console.say(f"left out: {left_over}")
    if not counts["test"]["videos"]:
        console.say("there are no test captions: set caption.split to val in params.yaml")


def _rewrite(values: dict[str, str]) -> None:
    """Change only the values of the dataset section; comments and all other sections stay."""

    def change(document: Any) -> None:
        section = document["dataset"]
        for key, value in values.items():
            if key in section:
                section[key] = value
            elif value != Dataset.model_fields[key].default:
                insert(section, key, value)

    edit_params(change)
