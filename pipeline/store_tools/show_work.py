"""Work on whole stores as `framescribe store` shows it: verify, repair, compare, export, import, push and pull."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, DamageError, printable
from pipeline.corpus import read_corpus
from pipeline.store import open_store, pull, push
from pipeline.store_tools.compare_stores import compare
from pipeline.store_tools.export_store import export
from pipeline.store_tools.import_foreign import import_features
from pipeline.store_tools.store_folders import folder_of, folders_of, own_folder
from pipeline.store_tools.verify_store import repair, verify

CAPTIONS = Path("data/captions")
MOST_NAMED = 10  # videos in a sentence


def verify_and_show(names: Sequence[str], console: Console) -> dict[str, Any]:
    """A table of what is wrong per store, then an error if anything is."""
    found = {str(folder): verify(folder) for folder in folders_of(names)}
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


def repair_and_show(name: str, console: Console) -> dict[str, Any]:
    folder = own_folder(name)
    dropped = repair(folder)
    if not folder.exists():
        console.say(f"{folder}: store.json was damaged, the store is removed")
    elif dropped:
        console.say(f"{folder}: dropped {len(dropped)} videos: {_named(dropped)}")
    else:
        console.say(f"{folder}: every video is whole")
    if dropped or not folder.exists():
        console.say(f"next: framescribe extract {folder.name} (what the feature cache still has is not computed again)")
    kept = len(open_store(folder)) if folder.exists() else 0
    return {"store": str(folder), "dropped": dropped, "kept": kept, "removed": not folder.exists()}


def compare_and_show(left: str, right: str, console: Console) -> dict[str, Any]:
    found = compare(open_store(folder_of(left)), open_store(folder_of(right)))
    if found.fields:
        console.table(("field", left, right), found.fields)
    sets = {f"only in {left}": found.only_left, f"only in {right}": found.only_right, "with other bytes": found.changed}
    for text, ids in sets.items():
        if ids:
            console.say(f"{len(ids)} videos {text}: {_named(ids)}")
    if found.is_empty:
        console.say("no difference")
    fields = {name: [ours, theirs] for name, ours, theirs in found.fields}
    return {"fields": fields, "only_left": found.only_left, "only_right": found.only_right, "changed": found.changed}


def export_and_show(name: str, out: Path, *, form: str, console: Console) -> dict[str, Any]:
    """The card, and the files where the format has them, tell the splits of the data set that is assembled here."""
    splits = read_corpus(CAPTIONS).splits if CAPTIONS.is_dir() else {}
    videos = export(open_store(folder_of(name)), out, form=form, splits=splits)
    console.say(f"{out}: {videos} videos as {form}")
    return {"out": str(out), "format": form, "videos": videos}


def import_and_show(source: Path, name: str, *, console: Console, **options: Any) -> dict[str, Any]:
    """`options` are those of `import_features`."""
    out = own_folder(name)
    manifest = import_features(source, out, **options)
    tensors = ", ".join(f"{name} {each['shape']} {each['dtype']}" for name, each in manifest["outputs"].items())
    console.say(f"{out}: {manifest['sizes']['videos']} videos, {manifest['sizes']['rows']} rows of {tensors}")
    return {"store": str(out), **manifest["sizes"], "outputs": manifest["outputs"]}


def push_and_show(name: str, url: str, console: Console) -> dict[str, Any]:
    folder = own_folder(name)
    with console.progress(f"push {folder.name}", len(open_store(folder).manifest["shards"])) as progress:
        done = push(folder, url, progress=progress)
    console.say(f"{url}: {done['sent']} shards sent, {done['kept']} were there")
    return {"store": str(folder), "url": url, **done}


def pull_and_show(url: str, name: str, console: Console) -> dict[str, Any]:
    folder = own_folder(name)
    done = pull(url, folder)
    console.say(f"{folder}: {done['fetched']} shards fetched, {done['kept']} were here")
    return {"store": str(folder), "url": url, **done}


def _named(ids: Sequence[str]) -> str:
    return ", ".join(map(printable, ids[:MOST_NAMED]))
