"""Look into feature stores, verify and repair them, compare, export and import them, and estimate their size.

A store is a name in features/, a folder, or a URL, of which a checked copy is made in the cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline import data, extraction, params, store, store_tools
from pipeline.core import Console, DamageError, InputError, UsageError, printable
from pipeline.remote import is_url

FEATURES = Path("features")
FORMATS = ("hdf5", "npy", "npz", "webdataset")


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    shared.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text, parents=[shared])

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
        "import", "make a store of features that you have: a folder of npy or npz files, an HDF5 file, or an npz of all"
    )
    into.add_argument("source", type=Path)
    into.add_argument("store", help="a name for features/, or a folder")
    into.add_argument("--tensor", default="features", help="name for arrays that have none (default: features)")
    into.add_argument("--row-seconds", type=float, default=float("nan"), help="length of a row, if it is known")
    into.add_argument("--suffix", default="", help="ending of the names that is not part of the id, such as _rgb")
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


def folder_of(name: str) -> Path:
    """A store by its name in features/, by its folder, or by its URL."""
    if is_url(name):
        return store.local_folder(name)
    return Path(name) if Path(name).is_dir() or "/" in name else FEATURES / name


def own_folder(name: str) -> Path:
    """Of a store that is to be written: a copy of something at a URL would be the wrong one."""
    if is_url(name):
        raise UsageError(f"{name} is read here, not written; work on a folder, then push it")
    return folder_of(name)


def _asked(names: list[str] | None) -> list[Path]:
    """All stores when none was named."""
    return [folder_of(name) for name in names] if names else all_stores()


def all_stores() -> list[Path]:
    return sorted(path.parent for path in FEATURES.glob("*/store.json"))


def _ls(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    return _ls_videos(args, console) if args.store else _ls_stores(console)


def _ls_stores(console: Console) -> dict[str, Any]:

    listed: dict[str, Any] = {}
    for folder in all_stores():
        try:
            manifest = store.open_store(folder).manifest
        except (DamageError, InputError) as error:
            listed[folder.name] = {"error": error.message}
            continue
        listed[folder.name] = {**manifest["sizes"], "outputs": list(manifest["outputs"])}
    columns = ("videos", "failures", "rows", "bytes")
    sizes = {name: [facts.get(each, "damaged") for each in columns] for name, facts in listed.items()}
    table = [(name, *sizes[name], ", ".join(facts.get("outputs", []))) for name, facts in listed.items()]
    console.table(("store", *columns, "outputs"), table)
    return listed


def _ls_videos(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    opened = store.open_store(folder_of(args.store))
    present = {} if args.failed else {id_: ("present", facts["rows"], "") for id_, facts in _videos(opened).items()}
    failed = {id_: ("failed", 0, str(opened.failure(id_))) for id_ in opened.manifest["failures"]}
    listed = dict(sorted((present | failed).items()))
    console.table(("video", "state", "rows", "why"), [(printable(id_), *facts) for id_, facts in listed.items()])
    return {id_: {"state": state, "rows": rows, "why": why} for id_, (state, rows, why) in listed.items()}


def _show(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    shown = {folder.name: _shown(store.open_store(folder), args.video, console) for folder in _asked(args.store)}
    if not shown:
        raise InputError(f"there is no store in {FEATURES}", hint="dvc repro")
    if all(facts["state"] == "absent" for facts in shown.values()):
        raise InputError(f"no store knows a video '{printable(args.video)}'", hint="framescribe store ls STORE")
    return shown


def _shown(opened: store.Store, video_id: str, console: Console) -> dict[str, Any]:
    state = opened.state(video_id)
    why = f": {opened.failure(video_id)}" if state == "failed" else ""
    console.say(f"{opened.folder}: {printable(video_id)} is {state}{why}")
    if state != "present":
        return {"state": state, "why": why.removeprefix(": ")}
    video = opened[video_id]
    tensors = {name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in video.items()}
    for name, facts in tensors.items():
        console.say(f"  {name} {facts['shape']} {facts['dtype']}")
    rows = {name: column.tolist() for name, column in video.rows.columns().items()}
    console.table(("row", *rows), list(zip(range(len(video.rows)), *rows.values(), strict=True)))
    return {"state": state, **_videos(opened)[video_id], "tensors": tensors, "table": rows}


def _verify(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    found = {str(folder): store_tools.verify(folder) for folder in _asked(args.store)}
    for folder, problems in found.items():
        console.say(f"{folder}: {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
        if problems:
            console.table(("where", "what"), [(printable(each.where), printable(each.what)) for each in problems])
    damaged = [folder for folder, problems in found.items() if problems]
    if damaged:
        first = found[damaged[0]][0]
        raise DamageError(
            f"{', '.join(damaged)}: {printable(first.where)}: {printable(first.what)}",
            hint=f"framescribe store repair {damaged[0]}",
        )
    return dict.fromkeys(found, "whole")


def _repair(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    folder = own_folder(args.store)
    dropped = store_tools.repair(folder)
    if not folder.exists():
        console.say(f"{folder}: store.json was damaged, the store is removed")
    elif dropped:
        console.say(f"{folder}: dropped {len(dropped)} videos: {', '.join(map(printable, dropped[:10]))}")
    else:
        console.say(f"{folder}: every video is whole")
    if dropped or not folder.exists():
        console.say(f"next: framescribe extract {folder.name} (what the feature cache still has is not computed again)")
    kept = len(store.open_store(folder)) if folder.exists() else 0
    return {"store": str(folder), "dropped": dropped, "kept": kept, "removed": not folder.exists()}


def _export(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    videos = store_tools.export(store.open_store(folder_of(args.store)), args.out, form=args.format)
    console.say(f"{args.out}: {videos} videos as {args.format}")
    return {"out": str(args.out), "format": args.format, "videos": videos}


def _import(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    out = own_folder(args.store)
    manifest = store_tools.import_features(
        args.source,
        out,
        tensor=args.tensor,
        row_seconds=args.row_seconds,
        suffix=args.suffix,
        scale=args.scale,
        standardize=args.standardize,
    )
    console.say(f"{out}: {manifest['sizes']['videos']} videos, {manifest['sizes']['rows']} rows")
    return {"store": str(out), **manifest["sizes"], "outputs": manifest["outputs"]}


def _push(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    folder = own_folder(args.store)
    with console.progress(f"push {folder.name}", len(store.open_store(folder).manifest["shards"])) as progress:
        done = store.push(folder, args.url, progress=progress)
    console.say(f"{args.url}: {done['sent']} shards sent, {done['kept']} were there")
    return {"store": str(folder), "url": args.url, **done}


def _pull(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    folder = own_folder(args.store)
    done = store.pull(args.url, folder)
    console.say(f"{folder}: {done['fetched']} shards fetched, {done['kept']} were here")
    return {"store": str(folder), "url": args.url, **done}


def _diff(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    found = store_tools.compare(store.open_store(folder_of(args.left)), store.open_store(folder_of(args.right)))
    if found.fields:
        console.table(("field", args.left, args.right), found.fields)
    sets = {f"only in {args.left}": found.only_left, f"only in {args.right}": found.only_right}
    for text, ids in {**sets, "with other bytes": found.changed}.items():
        if ids:
            console.say(f"{len(ids)} videos {text}: {', '.join(map(printable, ids[:10]))}")
    if found.is_empty:
        console.say("no difference")
    fields = {name: [left, right] for name, left, right in found.fields}
    return {"fields": fields, "only_left": found.only_left, "only_right": found.only_right, "changed": found.changed}


def _estimate(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    known = params.load_params().extract
    index, device = data.read_index(args.index), args.machine().device
    found = []
    for name in args.name or known:
        task = extraction.planned_task(name, params.pick(known, name, kind="extractor"), device=device)
        found.append(extraction.estimate(task, index, out=FEATURES / name))
    table = [(e.name, e.videos, e.cached, e.rows, _mega(e.shards), _mega(e.to_cache)) for e in found]
    console.table(("extractor", "videos", "cached", "rows", "store MB", "cache will grow MB"), table)
    warnings = list(extraction.shortages(found))
    for warning in warnings:
        console.say(f"warning: {warning}")
    facts = {e.name: {"videos": e.videos, "cached": e.cached, "rows": e.rows, "store": e.shards} for e in found}
    return {"stores": facts, "to_cache": sum(e.to_cache for e in found), "warnings": warnings}


def _videos(opened: store.Store) -> dict[str, dict[str, Any]]:
    return opened.manifest["videos"]


def _mega(size: int) -> str:
    return f"{size / 1e6:.2f}"


ACTIONS: dict[str, Callable[[argparse.Namespace, Console], dict[str, Any]]] = {
    "ls": _ls,
    "show": _show,
    "verify": _verify,
    "repair": _repair,
    "export": _export,
    "import": _import,
    "push": _push,
    "pull": _pull,
    "diff": _diff,
    "estimate": _estimate,
}
