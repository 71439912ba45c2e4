"""What `framescribe extractors` shows: all cards as a table, one card in full, and one added to params.yaml."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML

from pipeline.catalogue.any_network import card_of_any
from pipeline.catalogue.cards import Card, entry_of, read_card, read_cards
from pipeline.catalogue.families import family_options
from pipeline.core import Console, UsageError
from pipeline.params import edit_params, insert, load_params
from pipeline.weights import availability, is_ready

MEBIBYTES = 4e6 / 2**20  # of a million parameters in float32
ANY = (
    "any image network of timm, torchvision or open_clip, any video network of pytorchvideo or torchvision, networks "
    "of pictures, clips and sound of transformers: docs/extractors.md"
)


def show_cards(console: Console) -> dict[str, Any]:
    cards = read_cards()
    rows = [
        (name, card.about, card.paper, _sampling(card), _taps(card), card.licence, _state(card))
        for name, card in cards.items()
    ]
    console.table(("extractor", "network", "used by", "sampling", "outputs", "licence", "weights"), rows)
    console.say(f"and {ANY}")
    return {name: {"weights": card.params.weights, "state": _state(card)} for name, card in cards.items()}


def show_card(name: str, console: Console) -> dict[str, Any]:
    card = read_card(name)
    console.say(f"{name}: {card.about}")
    facts = [
        ("used by", card.paper or "-"),
        ("licence", card.licence),
        ("weights", f"{card.params.weights}: {_state(card)}"),
    ]
    if size := card.million_parameters:
        facts += [("size", f"{size:g} million parameters, {size * MEBIBYTES:.0f} MiB")]
    facts += [(f"output {tap}", " x ".join(map(str, shape))) for tap, shape in card.taps.items()]
    facts += [(f"option {key}", _default(value)) for key, value in family_options(card.params.family).items()]
    facts += [("note", note) for note in card.notes]
    console.table(("", ""), facts)
    console.say(f"in params.yaml, below `extract:` (or: framescribe extractors add {name})\n{_yaml(name, card)}")
    return {"name": name, **card.model_dump(mode="json"), "state": _state(card)}


def add_card(name: str, console: Console) -> dict[str, Any]:
    """Write the card's entry into params.yaml, and say what is to be done next."""
    name, card = card_of_any(name) or (name, read_card(name))
    if name in load_params().extract:
        raise UsageError(f"params.yaml has an extractor '{name}' already", hint=f"dvc repro extract@{name}")
    edit_params(lambda document: insert(document["extract"], name, entry_of(card)))
    state, wanted = _state(card), card.params.weights
    console.say(f"params.yaml: extract.{name} added; weights '{wanted}': {state}")
    following = f"dvc repro extract@{name}" if is_ready(state) else f"framescribe weights fetch {wanted}"
    console.say(f"next: {following}")
    return {"name": name, "weights": wanted, "state": state}


def _state(card: Card) -> str:
    return availability(card.params.weights)


def _default(value: object) -> str:
    return "default: the network's own" if value in (None, "") else f"default: {value}"


def _sampling(card: Card) -> str:
    return ", ".join(f"{key} {value}" for key, value in card.params.sampling.model_dump(exclude_defaults=True).items())


def _taps(card: Card) -> str:
    usual = ", ".join(f"{name} {'x'.join(map(str, card.taps[name]))}" for name in card.params.outputs)
    others = len(card.taps) - len(card.params.outputs)
    return f"{usual} (+{others})" if others else usual


def _yaml(name: str, card: Card) -> str:
    stream = io.StringIO()
    YAML().dump({name: entry_of(card)}, stream)
    return "".join(f"  {line}\n" for line in stream.getvalue().splitlines())
