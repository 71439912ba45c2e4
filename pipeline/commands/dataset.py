"""Point params.yaml at a data set after checking it, or show the one that is chosen."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import datasets, decoding, params
from pipeline.core import Console
from pipeline.remote import SUFFIX, is_url, write_listing

if TYPE_CHECKING:
    from ruamel.yaml import CommentedMap


def configure(parser: argparse.ArgumentParser) -> None:
    # `--json` and `--quiet` may also stand after the action; SUPPRESS keeps what was said before it.
    flags = argparse.ArgumentParser(add_help=False)
    for flag in ("--quiet", "--json"):
        flags.add_argument(flag, action="store_true", help=argparse.SUPPRESS, default=argparse.SUPPRESS)
    actions = parser.add_subparsers(dest="action", required=True, metavar="use|show")
    actions.add_parser("show", parents=[flags], help="the data set in params.yaml, checked, with its counts")
    use = actions.add_parser("use", parents=[flags], help="check a data set, then rewrite its section of params.yaml")
    use.add_argument("name", choices=["msrvtt", "msvd", "vatex", "mvad", "demo"], help="format of the annotations")
    use.add_argument(
        "--videos", required=True, metavar="DIR", help="folder of raw videos, or a URL such as s3://b/clips"
    )
    use.add_argument("--annotations", required=True, metavar="PATH", help="annotation file or folder")
    use.add_argument("--split", default="standard", metavar="RULE", help="standard; msrvtt also: dualafr, file")
    use.add_argument(
        "--unmatched",
        choices=["error", "ignore"],
        default="error",
        help="captions without a video and videos without captions: refuse them, or leave them out",
    )


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    current = params.load_params().dataset
    if args.action == "show":
        return _check(current, console)
    chosen = {name: getattr(args, name) for name in params.Dataset.model_fields}
    chosen["videos"] = _listed(args.videos, Path(f"{args.name}{SUFFIX}"), console)
    summary = _check(params.Dataset(**chosen), console)
    _rewrite(params.PARAMS_FILE, chosen)
    console.say(f"{params.PARAMS_FILE}: dataset is now {args.name}; next: dvc repro")
    return summary


def _listed(videos: str, listing: Path, console: Console) -> str:
    """Of a URL a list of what lies there, which DVC can follow; a folder stands for itself."""
    if not is_url(videos):
        return videos
    count = write_listing(videos, listing)
    console.say(f"{listing}: {count} objects below {videos}; keep it in git, and run this again when they change")
    return str(listing)


def _check(dataset: params.Dataset, console: Console) -> dict[str, Any]:
    """Everything that can be known without decoding; the same rules as the assemble stage."""

    files = decoding.find_videos(dataset.videos)
    annotations = datasets.load_annotations(dataset)
    match = datasets.match_videos(annotations, files)
    datasets.require_match(
        match, annotations, unmatched=dataset.unmatched, where=f"{dataset.annotations} and {dataset.videos}"
    )
    counts = {
        split: {**count, "with_file": sum(id_ in match.files for id_ in annotations.splits[split])}
        for split, count in annotations.counts.items()
    }
    _show(dataset, counts, left_over="" if match.complete else match.problem, console=console)
    return {"dataset": dataset.model_dump(), "files": len(files), "splits": counts}


def _show(dataset: params.Dataset, counts: dict[str, dict[str, int]], *, left_over: str, console: Console) -> None:
    console.say("\n".join(f"{key:<12} {value}" for key, value in dataset.model_dump().items()))
    rows = [[split, count["videos"], count["with_file"], count["captions"]] for split, count in counts.items()]
    console.table(["split", "videos", "with a file", "captions"], rows)
    if left_over:
        console.say(f"left out: {left_over}")
    if not counts["test"]["videos"]:
        console.say("there are no test captions: set caption.split to val in params.yaml")


def _rewrite(path: Path, values: dict[str, str]) -> None:
    """Change only the values of the dataset section; comments and all other sections stay."""

    def change(document: Any) -> None:
        for key, value in values.items():
            _set(document["dataset"], key, value)

    params.edit_params(change, path=path)


def _set(section: CommentedMap, key: str, value: str) -> None:

    if key in section:
        section[key] = value
    elif value != params.Dataset.model_fields[key].default:
        params.insert(section, key, value)
