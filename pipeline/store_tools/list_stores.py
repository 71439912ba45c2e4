"""What is in the stores: all of them, the videos of one, or one video in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.core import Console, DamageError, InputError, printable
from pipeline.store import FEATURES, Store, open_store, whose_weights
from pipeline.store_tools.store_folders import all_stores, folder_of, folders_of

SIZES = ("videos", "failures", "rows", "bytes")


def show_stores(console: Console) -> dict[str, Any]:
    """The stores in features/ and their sizes; a damaged one is said to be."""
    listed: dict[str, Any] = {}
    for folder in all_stores():
        try:
            manifest = open_store(folder).manifest
        except (DamageError, InputError) as error:
            listed[folder.name] = {"error": error.message}
            continue
        yours = {"own_weights": manifest["own_weights"]} if "own_weights" in manifest else {}
        listed[folder.name] = {**manifest["sizes"], "outputs": list(manifest["outputs"]), **yours}
    table = [
        (name, *(facts.get(size, "damaged") for size in SIZES), ", ".join(facts.get("outputs", [])))
        for name, facts in listed.items()
    ]
    console.table(("store", *SIZES, "outputs"), table)
    for name, facts in listed.items():
        _say_whose(name, facts, console)
    return listed


def show_videos(store: str, *, failed_only: bool, console: Console) -> dict[str, Any]:
    """The videos of a store, and how each fared."""
    opened = open_store(folder_of(store))
    videos = {} if failed_only else opened.manifest["videos"]
    _say_whose(store, opened.manifest, console)
    present = {id_: ("present", facts["rows"], "") for id_, facts in videos.items()}
    failed = {id_: ("failed", 0, str(opened.failure(id_))) for id_ in opened.manifest["failures"]}
    listed = dict(sorted((present | failed).items()))
    console.table(("video", "state", "rows", "why"), [(printable(id_), *facts) for id_, facts in listed.items()])
    return {id_: {"state": state, "rows": rows, "why": why} for id_, (state, rows, why) in listed.items()}


def show_video(video_id: str, stores: Sequence[str], console: Console) -> dict[str, Any]:
    """The tensors and rows of one video in the stores named, or in all."""
    shown = {folder.name: _show_in(open_store(folder), video_id, console) for folder in folders_of(stores)}
    if not shown:
        raise InputError(f"there is no store in {FEATURES}", hint="dvc repro")
    if all(facts["state"] == "absent" for facts in shown.values()):
        raise InputError(f"no store knows a video '{printable(video_id)}'", hint="framescribe store ls STORE")
    return shown


def _show_in(store: Store, video_id: str, console: Console) -> dict[str, Any]:
    state = store.state(video_id)
    why = f": {store.failure(video_id)}" if state == "failed" else ""
    console.say(f"{store.folder}: {printable(video_id)} is {state}{why}")
    _say_whose(store.folder.name, store.manifest, console)
    if state != "present":
        return {"state": state, "why": why.removeprefix(": ")}
    video = store[video_id]
    tensors = {name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in video.items()}
    for name, facts in tensors.items():
        console.say(f"  {name} {facts['shape']} {facts['dtype']}")
    rows = {name: column.tolist() for name, column in video.rows.columns().items()}
    console.table(("row", *rows), list(zip(range(len(video.rows)), *rows.values(), strict=True)))
    return {"state": state, **store.manifest["videos"][video_id], "tensors": tensors, "table": rows}


def _say_whose(store: str, manifest: Mapping[str, Any], console: Console) -> None:
    if told := whose_weights(manifest):
        console.say(f"weights of {printable(store)}: {told}")
