"""Look into feature stores, verify and repair them, compare, export and import them, and estimate their size.

A store is a name in features/, a folder, or a URL, of which a checked copy is made in the cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline import store_tools
from pipeline.core import Console, add_actions

FORMATS = ("hdf5", "lance", "npy", "npz", "parquet", "webdataset")


def configure(parser: argparse.ArgumentParser) -> None:
    action = add_actions(parser)
    ls = action("ls", "the stores there are, or the videos of one and how each fared")
    ls.add_argument("store", nargs="?", help="a name in features/, or a folder")
    ls.add_argument("--failed", action="store_true", help="failed videos only")
    show = action("show", "one video: its tensors and rows in every store, or in one")
    show.add_argument("video")
    show.add_argument("--store", action="append", help="a name in features/, or a folder; may be repeated")
    verify = action("verify", "every checksum, shape and row table; exit code 6 when something is damaged")
    verify.add_argument("store", nargs="*", help="names in features/, or folders (default: all)")
    action("repair", "drop what is damaged, so that the next extract makes it again").add_argument("store")
    export = action("export", "write a store as files that other tools read")
    export.add_argument("store")
    export.add_argument("out", type=Path, help="a folder; for hdf5 a file")
    export.add_argument("--format", choices=FORMATS, default="npy")
    into = action(
        "import", "a store of features that you have: a folder of npy, npz or pt files, or one npz, pt or HDF5 file"
    )
    into.add_argument("source", type=Path)
    into.add_argument("store", help="a name for features/, or a folder")
    into.add_argument(
        "--tensor",
        default="",
        metavar="NAME",
        help="name for a video's only array (default: its own; of none pool of vectors, features of regions or maps)",
    )
    into.add_argument("--row-seconds", type=float, default=float("nan"), help="length of a row, if it is known")
    into.add_argument("--suffix", default="", help="read only names with this ending, such as _rgb, which is cut")
    into.add_argument("--scale", type=float, default=1.0, help="factor for all numbers, where rows are very long")
    into.add_argument(
        "--standardize",
        action="store_true",
        help="every channel at mean 0 and deviation 1 over all rows, before --scale",
    )
    push = action("push", "copy a store to a URL: shard after shard, store.json last")
    push.add_argument("store")
    push.add_argument("url", help="such as s3://bucket/features/NAME")
    pull = action("pull", "copy a store from a URL, every shard checked")
    pull.add_argument("url")
    pull.add_argument("store", help="a name for features/, or a folder")
    diff = action("diff", "what differs between two stores, field by field")
    diff.add_argument("left")
    diff.add_argument("right")
    estimate = action("estimate", "what a run of extract will need on disk, before it runs")
    estimate.add_argument("name", nargs="*", help="entries of `extract` in params.yaml (default: all)")
    estimate.add_argument("--index", type=Path, default=Path("data/index"))


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return ACTIONS[args.action](args, console)


def _ls(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.store:
        return store_tools.show_videos(args.store, failed_only=args.failed, console=console)
    return store_tools.show_stores(console)


def _import(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return store_tools.import_and_show(
        args.source,
        args.store,
        tensor=args.tensor,
        row_seconds=args.row_seconds,
        suffix=args.suffix,
        scale=args.scale,
        standardize=args.standardize,
        console=console,
    )


ACTIONS: dict[str, Callable[[argparse.Namespace, Console], dict[str, Any]]] = {
    "ls": _ls,
    "show": lambda args, console: store_tools.show_video(args.video, args.store or [], console),
    "verify": lambda args, console: store_tools.verify_and_show(args.store, console),
    "repair": lambda args, console: store_tools.repair_and_show(args.store, console),
    "export": lambda args, console: store_tools.export_and_show(
        args.store, args.out, form=args.format, console=console
    ),
    "import": _import,
    "push": lambda args, console: store_tools.push_and_show(args.store, args.url, console),
    "pull": lambda args, console: store_tools.pull_and_show(args.url, args.store, console),
    "diff": lambda args, console: store_tools.compare_and_show(args.left, args.right, console),
    "estimate": lambda args, console: store_tools.show_estimates(
        args.name, index=args.index, device=args.machine().device, console=console
    ),
}
