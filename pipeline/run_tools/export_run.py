"""`framescribe runs export`: all that captions a video by a run, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.captioning import require_extractable
from pipeline.core import Console, DamageError, InputError, UsageError, read_sealed_tensors
from pipeline.params import Params, load_params, pick
from pipeline.run_tools.carried_weights import packed_path, weights_facts, why_not_packed
from pipeline.run_tools.entries import require_same_entries, weights_read
from pipeline.run_tools.model_card import model_card
from pipeline.run_tools.run_file import (
    CARD,
    MODEL,
    NEEDED,
    PARAMS,
    RECORD,
    WEIGHTS,
    open_run_file,
    write_run_file,
)
from pipeline.runs import read_record

RUNS = Path("runs")


def export_and_show(name: str, out: Path, *, with_weights: bool, console: Console) -> dict[str, Any]:
    """With `with_weights` those of the extractors too, as far as their licences let copies be passed on."""
    folder, params = RUNS / name, load_params()
    record = read_record(folder)
    _require_portable(record, folder, params)
    _require_replaceable(out)
    used = dict.fromkeys(facts["store"] for facts in record["features"].values())
    entries = {store: pick(params.extract, store, kind="extractor") for store in sorted(used)}
    require_same_entries(record, entries, run=name)
    needed = {each: weights_facts(each, sha256=sha256) for each, sha256 in weights_read(record, entries).items()}
    kept_back = {each: why for each, facts in needed.items() if (why := why_not_packed(facts))}
    packed = [each for each in needed if with_weights and each not in kept_back]
    carried = params.model_copy(update={"extract": entries})
    parts = {
        CARD: _text(model_card(record, carried, needed=needed, packed=packed)),
        PARAMS: _json(_carried_params(carried)),
        NEEDED: _json(needed),
        RECORD: _bytes(folder / RECORD),
        MODEL: _model(folder),
    }
    for each in packed:
        path = packed_path(each, sha256=needed[each]["sha256"])
        parts[f"{WEIGHTS}{each}"] = np.memmap(path, np.uint8, mode="r")
    written = write_run_file(out, run=record["run"], parts=parts)
    _tell(out, needed, packed, kept_back if with_weights else {}, console)
    return {"run": name, "file": str(out), "sha256": written.sha256, "bytes": written.bytes, "weights": packed}


def _require_portable(record: Mapping[str, Any], folder: Path, params: Params) -> None:
    require_extractable(record, folder, extractors=params.extract)
    if params.caption.search == "consensus":
        raise UsageError(
            "caption.search is consensus, which reads the training captions, and those stay with their data set",
            hint="set caption.search to beam or sample in params.yaml",
        )


def _require_replaceable(out: Path) -> None:
    if not out.exists():
        return
    try:
        open_run_file(out)
    except DamageError:
        return  # a former export, cut short or changed
    except InputError as error:
        raise InputError(f"{out} is there already and is no run that was exported", hint="name another file") from error


def _carried_params(params: Params) -> dict[str, Any]:
    """What decides a caption, and no path of this machine: with the same section `caption` the sentence is the same."""
    return {
        "dataset": {"name": params.dataset.name, "videos": "none", "annotations": "none"},
        "decode": params.decode.model_dump(),
        "extract": {name: entry.model_dump() for name, entry in params.extract.items()},
        "train": {},
        "caption": params.caption.model_dump(),
    }


def _model(folder: Path) -> np.ndarray:
    hint = f"dvc repro --force train@{folder.name}"
    return np.frombuffer(read_sealed_tensors(folder / MODEL, hint=hint), np.uint8)


def _bytes(path: Path) -> np.ndarray:
    return np.frombuffer(path.read_bytes(), np.uint8)


def _json(value: Any) -> np.ndarray:
    return _text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(errors="backslashreplace"), np.uint8)


def _tell(
    out: Path, needed: Mapping[str, Any], packed: list[str], kept_back: Mapping[str, str], console: Console
) -> None:
    console.say(f"{out}: framescribe caption clip.mp4 --run {out.name}")
    for name in needed:
        if name in packed:
            console.say(f"with the weights {name} ({needed[name]['licence']})")
        else:
            why = f", which may not be passed on ({kept_back[name]})" if name in kept_back else ""
            console.say(f"without the weights {name}{why}; there: {needed[name]['get']}")
