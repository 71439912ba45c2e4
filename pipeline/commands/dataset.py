"""Point params.yaml at a data set after checking it, or show the one that is chosen."""

from __future__ import annotations

import argparse
from typing import Any

from pipeline import datasets, params
from pipeline.core import Console


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
        return datasets.show_dataset(current, console)
    return datasets.use_dataset({name: getattr(args, name) for name in params.Dataset.model_fields}, console)
