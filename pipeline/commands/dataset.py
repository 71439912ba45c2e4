"""Point params.yaml at a data set after checking it, or show the one that is chosen."""

from __future__ import annotations

import argparse
from typing import Any

from pipeline import datasets, params
from pipeline.core import Console, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    # `--json` and `--quiet` may also stand after the action; SUPPRESS keeps what was said before it.
    flags = argparse.ArgumentParser(add_help=False)
    for flag in ("--quiet", "--json"):
        flags.add_argument(flag, action="store_true", help=argparse.SUPPRESS, default=argparse.SUPPRESS)
    actions = parser.add_subparsers(dest="action", required=True, metavar="use|show")
    actions.add_parser("show", parents=[flags], help="the data set in params.yaml, checked, with its counts")
    use = actions.add_parser("use", parents=[flags], help="check a data set, then rewrite its section of params.yaml")
    formats = ["msrvtt", "msvd", "vatex", "mvad", "folder", "demo"]
    use.add_argument("name", choices=formats, help="format of the annotations; folder: a CSV or JSON of captions")
    use.add_argument(
        "--videos", required=True, metavar="DIR", help="folder of raw videos, or a URL such as s3://b/clips"
    )
    use.add_argument(
        "--annotations",
        metavar="PATH",
        help="annotation file or folder (default of `folder`: captions.csv, which is written when it is not there)",
    )
    use.add_argument("--split", default="standard", metavar="RULE", help="standard; msrvtt also: dualafr, file")
    use.add_argument(
        "--unmatched",
        choices=["error", "ignore"],
        default="error",
        help="captions without a video and videos without captions: refuse them, or leave them out",
    )
    use.add_argument(
        "--subset",
        nargs="?",
        type=float,
        const=True,
        metavar="SHARE",
        help="use the videos that are there; a split without any takes SHARE of all (default: 0.2); always of `folder`",
    )
    use.add_argument("--seed", type=int, default=0, help="which videos `--subset` moves (default: 0)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "show":
        return datasets.show_dataset(params.load_params().dataset, console)
    params.load_params()
    return datasets.use_dataset({**_plain_values(args), "subset": _subset(args)}, console)


def _plain_values(args: argparse.Namespace) -> dict[str, str]:
    annotations = args.annotations or (datasets.TABLE if args.name == "folder" else None)
    if annotations is None:
        raise UsageError(f"--annotations is missing: the annotation file or folder of {args.name}")
    values = {name: getattr(args, name) for name in ("name", "videos", "split", "unmatched")}
    return {**values, "annotations": annotations}


def _subset(args: argparse.Namespace) -> dict[str, Any] | None:
    if args.subset is None and args.name != "folder":
        return None
    stated = {} if args.subset in (None, True) else {"share": args.subset}
    if not (0 < stated.get("share", 0.2) < 0.5 and args.seed >= 0):
        raise UsageError("--subset must be above 0 and below 0.5, and --seed 0 or more")
    return params.Subset(**stated, seed=args.seed).model_dump()
