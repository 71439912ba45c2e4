"""A challenge's submission: one sentence for each video of a list, from the predictions of one run or of several.

Videos that can no longer be had are captioned from released features by another run; its sentences fill the gaps.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, InputError, UsageError, named, write_text
from pipeline.datasets import load_annotations
from pipeline.params import Params
from pipeline.predictions import caption_command, read_ids, read_run_predictions


def write_submission(
    names: Sequence[str],
    *,
    params: Params,
    split: str | None,
    ids: Path | None,
    partial: bool,
    out: Path,
    console: Console,
) -> dict[str, Any]:
    """{id: sentence} in the order of the list; of several predictions the first that has a sentence is taken."""
    predictions = {name: read_run_predictions(_file(name), run=name)[1] for name in names}
    wanted = _listed(ids) if ids else _of_split(params, split or params.caption.split)
    chosen = {id_: _first(stems, predictions) for id_, stems in wanted.items()}
    lacking = [id_ for id_, found in chosen.items() if found is None]
    if lacking and not partial:
        raise InputError(
            f"{len(lacking)} of {len(wanted)} videos have no sentence in {', '.join(names)}: {named(lacking)}",
            hint="--partial leaves them out; or caption them from other features: framescribe caption RUN --ids FILE",
        )
    sentences = {id_: predictions[name][stem] for id_, found in chosen.items() if found for name, stem in [found]}
    write_text(out, json.dumps(sentences, indent=1, ensure_ascii=False) + "\n")
    shares = Counter(found[0] for found in chosen.values() if found)
    console.say(f"{out}: {len(sentences)} of {len(wanted)} videos; {_told(shares, names)}")
    return {"out": str(out), "videos": len(sentences), "lacking": len(lacking), "from": {n: shares[n] for n in names}}


def _file(name: str) -> Path:
    path = Path("predictions") / f"{name}.json"
    if not path.is_file():
        raise InputError(f"{path} does not exist", hint=caption_command(name))
    return path


def _listed(ids: Path) -> dict[str, tuple[str, ...]]:
    return {id_: (id_,) for id_ in read_ids(ids)}


def _of_split(params: Params, split: str) -> dict[str, tuple[str, ...]]:
    """Annotated id -> the ids under which its file may be known; videos that are not here among them."""
    annotations = load_annotations(params.dataset)
    if not annotations.splits.get(split):
        raise UsageError(f"{params.dataset.annotations} has no {split} video", hint="--ids FILE lists them")
    return {id_: (id_, annotations.files.get(id_, id_)) for id_ in annotations.splits[split]}


def _first(stems: Sequence[str], predictions: Mapping[str, Mapping[str, str]]) -> tuple[str, str] | None:
    """The (predictions, id) of the first sentence with a word in it."""
    places = ((name, stem) for name, captions in predictions.items() for stem in stems if captions.get(stem))
    return next(places, None)


def _told(shares: Mapping[str, int], names: Sequence[str]) -> str:
    return ", ".join(f"{shares.get(name, 0)} of {name}" for name in names)
