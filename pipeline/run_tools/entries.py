"""Whether entries of `extract` say what the features of a run were made with, seen before anything is decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.core import InputError, printable
from pipeline.params import Extract, pick
from pipeline.store import other_meaning
from pipeline.weights import WITHOUT_FILE


def require_same_entries(record: Mapping[str, Any], entries: Mapping[str, Extract], *, run: str) -> None:
    for facts in record["features"].values():
        entry = pick(dict(entries), facts["store"], kind="extractor")
        stated = _stated(entry)
        learnt = _same_fields(facts["fingerprint"], stated)
        if changed := other_meaning(learnt, stated):
            told = ", ".join(f"{field} {before} -> {after}" for field, before, after in changed[:4])
            message = f"'{run}' was trained on other features than the entry '{facts['store']}' makes: {told}"
            raise InputError(printable(message), hint="dvc repro")


def weights_read(record: Mapping[str, Any], entries: Mapping[str, Extract]) -> dict[str, str]:
    """Weights that the run's extractors read -> the sha256 of the file that its features were made with."""
    found = {entries[facts["store"]].weights: facts["fingerprint"]["weights"] for facts in record["features"].values()}
    for name, sha256 in found.items():
        if (name in WITHOUT_FILE or sha256 in WITHOUT_FILE) and name != sha256:
            raise InputError(printable(f"the features were made with the weights {sha256}, its entry says {name}"))
    return {name: sha256 for name, sha256 in sorted(found.items()) if name not in WITHOUT_FILE}


def _stated(entry: Extract) -> dict[str, Any]:
    """The fields of a fingerprint that an entry decides alone."""
    chosen = entry.model_dump(exclude={"max_failed", "weights", "sampling", "outputs", "dtype"})
    sampling = entry.sampling.model_dump(exclude_none=True)
    return {"extractor": chosen, "sampling": sampling, "layers": sorted(entry.outputs), "dtype": entry.dtype}


def _same_fields(fingerprint: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in fingerprint["extractor"].items() if name in stated["extractor"]}
    return {name: fingerprint[name] for name in stated} | {"extractor": own}
