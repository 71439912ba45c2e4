"""The first stages of the graph: which weights an extractor reads, or what is missing and how to get it.

DVC looks for a stage's files before it starts the stage, and says of one that is not there `[Errno 2]`. So `extract`
depends on the small file that is written here, and what is missing is told in words, before anything is decoded.
Where that file came with `dvc pull` and the weights did not, it is kept: the features that they made came as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core import Console, MissingToolError, file_sha256, read_sealed_json, write_sealed_json
from pipeline.params import load_params, pick
from pipeline.weights.converted import WEIGHTS_FOLDER, converted_path, status
from pipeline.weights.instructions import missing
from pipeline.weights.registry import WITHOUT_FILE

FOLDER = Path("data/weights")


def require_weights(extractor: str, console: Console) -> dict[str, Any]:
    """Name and sha256 of the weights of one extractor of params.yaml, as data/weights/<extractor>.json."""
    name = pick(load_params().extract, extractor, kind="extractor").weights
    if name not in WITHOUT_FILE and (kept := _known_but_not_here(extractor, name)):
        console.say(f"{extractor}: the weights {name} are not here; what they made stays. To make more, get them first")
        return kept
    if name not in WITHOUT_FILE and (state := status(name)) != "present":
        told = missing(name, state=state, folder=WEIGHTS_FOLDER)
        raise MissingToolError(told.message, hint=f"{told.hint}\n  all that is missing: framescribe doctor")
    facts = {"weights": name} | ({} if name in WITHOUT_FILE else {"sha256": file_sha256(converted_path(name))})
    write_sealed_json(FOLDER / f"{extractor}.json", facts)
    console.say(f"{extractor}: weights {name}")
    return facts


def _known_but_not_here(extractor: str, name: str) -> dict[str, Any]:
    """As they were when features were made with them: enough until a video is to be computed."""
    file = FOLDER / f"{extractor}.json"
    if converted_path(name).exists() or not file.is_file():
        return {}
    facts = read_sealed_json(file, hint=f"delete it, then: dvc repro weights@{extractor}")
    return facts if facts.get("weights") == name else {}
