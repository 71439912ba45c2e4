"""List the extractors, show the card of one, or add one to params.yaml."""

from __future__ import annotations

import argparse
import io
from typing import Any

from pipeline import catalogue, params, weights
from pipeline.core import Console, UsageError

ANY = "any image network of timm or torchvision, any video network of pytorchvideo or torchvision: docs/extractors.md"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "show", "add"], default="list")
    parser.add_argument("name", nargs="?", help="a name that `framescribe extractors` lists")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.action == "list":
        return _list(console)
    if args.name is None:
        raise UsageError(f"extractors {args.action} needs a name", hint="framescribe extractors")
    return _show(args.name, console) if args.action == "show" else _add(args.name, console)


def _list(console: Console) -> dict[str, Any]:

    cards = catalogue.read_cards()
    rows = [
        (name, card.about, card.paper, _sampling(card), _taps(card), card.licence, _state(card))
        for name, card in cards.items()
    ]
    console.table(("extractor", "network", "used by", "sampling", "outputs", "licence", "weights"), rows)
    console.say(f"and {ANY}")
    return {name: {"weights": card.params.weights, "state": _state(card)} for name, card in cards.items()}


def _show(name: str, console: Console) -> dict[str, Any]:

    card = catalogue.read_card(name)
    console.say(f"{name}: {card.about}")
    facts = [
        ("used by", card.paper or "-"),
        ("licence", card.licence),
        ("weights", f"{card.params.weights}: {_state(card)}"),
    ]
    facts += [(f"output {tap}", " x ".join(map(str, shape))) for tap, shape in card.taps.items()]
    facts += [(f"option {key}", _default(value)) for key, value in catalogue.family_options(card.params.family).items()]
    facts += [("note", note) for note in card.notes]
    console.table(("", ""), facts)
    console.say(f"in params.yaml, below `extract:` (or: framescribe extractors add {name})\n{_yaml(name, card)}")
    return {"name": name, **card.model_dump(mode="json"), "state": _state(card)}


def _add(name: str, console: Console) -> dict[str, Any]:

    if name in params.load_params().extract:
        raise UsageError(f"params.yaml has an extractor '{name}' already", hint=f"dvc repro extract@{name}")
    card = catalogue.read_card(name)
    params.edit_params(lambda document: params.insert(document["extract"], name, catalogue.entry_of(card)))
    state, wanted = _state(card), card.params.weights
    console.say(f"params.yaml: extract.{name} added; weights '{wanted}': {state}")
    following = f"dvc repro extract@{name}" if weights.is_ready(state) else f"framescribe weights fetch {wanted}"
    console.say(f"next: {following}")
    return {"name": name, "weights": wanted, "state": state}


def _state(card: catalogue.Card) -> str:

    return weights.availability(card.params.weights)


def _default(value: object) -> str:
    return "default: the network's own" if value in (None, "") else f"default: {value}"


def _sampling(card: catalogue.Card) -> str:
    return ", ".join(f"{key} {value}" for key, value in card.params.sampling.model_dump(exclude_defaults=True).items())


def _taps(card: catalogue.Card) -> str:
    usual = ", ".join(f"{name} {'x'.join(map(str, card.taps[name]))}" for name in card.params.outputs)
    others = len(card.taps) - len(card.params.outputs)
    return f"{usual} (+{others})" if others else usual


def _yaml(name: str, card: catalogue.Card) -> str:
    from ruamel.yaml import YAML

    stream = io.StringIO()
    YAML().dump({name: catalogue.entry_of(card)}, stream)
    return "".join(f"  {line}\n" for line in stream.getvalue().splitlines())
