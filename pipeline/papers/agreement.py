"""Whether a run is what the recipe would make: every setting by its name, as it is wanted and as it was found.

Both sides are flat tables of names and values. What nobody wrote down is UNKNOWN, which equals nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipeline.corpus import SPECIALS
from pipeline.params import Caption, Evaluate, Extract, Train

UNKNOWN = "not known"
Settings = Mapping[str, Any]  # name -> value
SCORELESS = ("resamples", "spice")  # settings of evaluate that decide no number of the tables


@dataclass(frozen=True)
class Setting:
    """One setting, wanted and found."""

    name: str
    wanted: Any
    found: Any

    @property
    def agrees(self) -> bool:
        return UNKNOWN not in (self.wanted, self.found) and bool(self.wanted == self.found)

    def __str__(self) -> str:
        if UNKNOWN in (self.wanted, self.found):
            return f"{self.name} {UNKNOWN}"
        return f"{self.name} {_shown(self.found)}, not {_shown(self.wanted)}"


def _shown(value: Any) -> str:
    return "none" if value in ("", None, [], {}) else str(value)


def disagreements(wanted: Settings, found: Settings, *, prefix: str = "") -> list[str]:
    """Of all names on either side; a name that one side lacks is none there."""
    names = dict.fromkeys([*wanted, *found])
    compared = [Setting(prefix + name, wanted.get(name), found.get(name)) for name in names]
    return [str(each) for each in compared if not each.agrees]


def unknown(wanted: Settings) -> dict[str, Any]:
    """The same names, of which nothing was written down."""
    return dict.fromkeys(wanted, UNKNOWN)


# What the recipe would make


def train_settings(run: Train) -> dict[str, Any]:
    """Everything in an entry of `train`; later stages by their number, each spelt out as it runs."""
    first, *later = run.stages
    whole = run.model_dump(exclude={"then", "features"}) | first.model_dump()
    stages = {"stages": len(run.stages)} | dict(_flat(whole))
    for number, stage in enumerate(later, start=2):
        stages |= dict(_flat(stage.model_dump(), f"stage {number} "))
    return stages | {f"features.{slot}": store for slot, store in run.features.model_dump().items()}


def store_settings(entry: Extract) -> dict[str, Any]:
    """What an entry of `extract` writes into the fingerprint of its store; weights by their name."""
    chosen = entry.model_dump(exclude={"max_failed", "weights", "sampling", "outputs", "dtype"})
    sampling = entry.sampling.model_dump(exclude_none=True)
    return {
        **dict(_flat(chosen)),
        **dict(_flat(sampling, "sampling.")),
        "outputs": sorted(entry.outputs),
        "dtype": entry.dtype,
        "weights": entry.weights,
    }


def caption_settings(caption: Caption, *, split: str) -> dict[str, Any]:
    """Recipes search by beams; a record says how only where it was another way."""
    return {
        f"caption.{key}": value for key, value in ({"search": "beam"} | caption.deciding | {"split": split}).items()
    }


def evaluate_settings() -> dict[str, Any]:
    """A recipe says nothing of scoring: as the field does it."""
    return {f"evaluate.{key}": value for key, value in Evaluate().model_dump(exclude=set(SCORELESS)).items()}


# What was found


def found_train(record: Mapping[str, Any]) -> Train | None:
    try:
        return Train.model_validate(record["params"])
    except (KeyError, ValidationError):  # by another version
        return None


def found_store(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a store's fingerprint by the names of its entry; versions and the device are no settings."""
    extractor = fingerprint.get("extractor")
    chosen = extractor if isinstance(extractor, dict) else {}
    told = {key: value for key, value in chosen.items() if key in Extract.model_fields}
    sampling = fingerprint.get("sampling")
    found = dict(_flat(told)) | dict(_flat(sampling if isinstance(sampling, dict) else {}, "sampling."))
    layers = {"outputs": fingerprint.get("layers", UNKNOWN)}
    return found | layers | {key: fingerprint.get(key, UNKNOWN) for key in ("dtype", "weights")}


def found_section(settings: Mapping[str, Any], wanted: Settings, *, section: str) -> dict[str, Any]:
    """Settings that a command wrote down; what it did not is unknown."""
    return {name: settings.get(name.removeprefix(f"{section}."), UNKNOWN) for name in wanted}


def found_caption(settings: Mapping[str, Any], wanted: Settings) -> dict[str, Any]:
    """What the record of captions says; what another search does not have is no further difference."""
    if not settings:
        return unknown(wanted)
    found = found_section({"search": "beam"} | dict(settings), wanted, section="caption")
    if found["caption.search"] == wanted["caption.search"]:
        return found
    return {name: wanted[name] if value == UNKNOWN else value for name, value in found.items()}


def found_min_count(vocabulary: Sequence[str], counts: Mapping[str, int], *, wanted: int) -> int | str:
    """The rarest word that the run knows tells it: words stand by their counts. `wanted`, if that gives the same."""
    words = list(vocabulary[len(SPECIALS) :])
    if not words or words != list(counts)[: len(words)]:
        return "of other captions"
    rarest, rest = counts[words[-1]], list(counts.values())[len(words) :]
    most = rest[0] if rest else 0  # of a word that was left out
    return wanted if most < wanted <= rarest else most + 1


def found_words(vocabulary: Sequence[str]) -> str:
    """Of English text both kinds of words are the same."""
    return "latin" if all(word.isascii() for word in vocabulary) else "unicode"


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dictionaries as dotted names."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
