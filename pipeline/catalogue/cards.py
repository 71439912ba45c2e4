"""Cards: what is known of each extractor in the catalogue, and the entry for params.yaml that its paper asks for.

A card is a file of extractors/cards/, named like the entry. Reading all of them imports no network library.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core import UsageError
from pipeline.params import Extract, pick

CARDS = Path(__file__).parents[2] / "extractors/cards"


class Card(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    paper: str = ""  # whose features these are
    licence: str  # of the weights
    million_parameters: float | None = None  # where a file's size is not in the registry
    params: Extract  # goes into params.yaml as it is
    taps: dict[str, list[int]]  # every output that can be asked for -> shape of one row
    notes: list[str] = []


def read_cards(folder: Path = CARDS) -> dict[str, Card]:
    return {path.stem: _read(path) for path in sorted(folder.glob("*.yaml"))}


def read_card(name: str) -> Card:
    return pick(read_cards(), name, kind="extractor card", where="the catalogue")


def entry_of(card: Card) -> dict[str, object]:
    """The card's params without what is default anyway."""
    entry = card.params.model_dump(exclude_defaults=True)
    return {**entry, "sampling": card.params.sampling.model_dump(exclude_defaults=True), "outputs": card.params.outputs}


@cache
def _read(path: Path) -> Card:
    from ruamel.yaml import YAML

    try:
        return Card.model_validate(YAML(typ="safe").load(path.read_text()))
    except ValidationError as error:
        raise UsageError(f"{path} is not a card: {error}") from error
