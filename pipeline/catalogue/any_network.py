"""Entries for networks without a card: any of a library by LIBRARY:NETWORK, and the user's own weights by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from importlib import import_module

from pipeline.catalogue.cards import Card, read_cards
from pipeline.catalogue.families import family_module
from pipeline.catalogue.open_clip_names import timms_edition
from pipeline.core import MissingToolError, UsageError
from pipeline.params import Extract, Sampling
from pipeline.weights import WEIGHTS_FOLDER, entry, missing, origin, own_network, status

FRAMES, CLIPS = Sampling(every=5), Sampling(window=16, stride=16)
FLOW = ("raft_small", "raft_large")


def card_of_any(name: str) -> tuple[str, Card] | None:
    """What the entry is called and says; None for a name that only a card can have."""
    if network := own_network(name):
        return name, _card(_params(network, weights=name), licence="yours", about=entry(name).description)
    if ":" not in name:
        return None
    weights = _as_timms(name)
    params = _params(weights, weights=weights)
    return _entry_name(name), _card(params, licence=entry(weights).licence, about=entry(weights).description)


def _as_timms(name: str) -> str:
    """Image towers of open_clip are those of timm, under other names."""
    library, _, tower = name.partition(":")
    return f"timm:{timms_edition(tower)}" if library == "open_clip" else name


def _entry_name(network: str) -> str:
    """timm:resnet18.a1_in1k -> resnet18_a1_in1k: a name that a folder and a stage can have."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", network.partition(":")[2])


def _card(params: Extract, *, licence: str, about: str) -> Card:
    return Card(about=about, licence=licence, params=params, taps={})


def _params(network: str, *, weights: str) -> Extract:
    library, found, _ = network.partition(":")
    if not found:
        return _like_a_card(network, weights=weights)
    if library not in LIBRARIES:
        known = ", ".join([*LIBRARIES, "open_clip"])
        raise UsageError(f"'{network}': no family takes networks of '{library}'; known: {known}")
    return LIBRARIES[library](network, weights)


def _of_timm(network: str, weights: str) -> Extract:
    """Of a tower that was trained beside texts, the vector that is compared with them."""
    publishers = import_module("extractors.parts.publishers")  # only when needed: it imports torch
    edition, plain = network.removeprefix("timm:"), network.partition(".")[0]
    if edition in publishers.text_aligned_editions(plain.removeprefix("timm:")):
        return Extract(family="frames", network=network, weights=weights, sampling=FRAMES, outputs=["embed"])
    return Extract(family="frames", network=plain, weights=weights, sampling=FRAMES)


def _of_torchvision(network: str, weights: str) -> Extract:
    from torchvision import models

    plain = network.partition(".")[0]
    name = plain.removeprefix("torchvision:")
    if name in models.list_models(module=models.video):
        return Extract(family="clips", network=plain, weights=weights, sampling=CLIPS)
    if name not in models.list_models(module=models):
        raise UsageError(f"{network} gives no features of pictures or clips", hint="framescribe extractors")
    return Extract(family="frames", network=plain, weights=weights, sampling=FRAMES)


def _of_pytorchvideo(network: str, weights: str) -> Extract:
    return Extract(family="clips", network=network.partition(".")[0], weights=weights, sampling=CLIPS)


def _of_transformers(_: str, weights: str) -> Extract:
    """The repository's name does not tell the network: the configuration beside its weights does."""
    facts = origin(weights)
    if status(weights) != "present":
        raise missing(weights, state=status(weights), folder=WEIGHTS_FOLDER)
    family = family_module("transformers")
    sampling = family.sampling_of(facts["network"], config=facts["config"], processor=facts["processor"])
    return Extract(family="transformers", network=facts["network"], weights=weights, sampling=Sampling(**sampling))


LIBRARIES: dict[str, Callable[[str, str], Extract]] = {
    "timm": _of_timm,
    "torchvision": _of_torchvision,
    "pytorchvideo": _of_pytorchvideo,
    "transformers": _of_transformers,
}


def _like_a_card(network: str, *, weights: str) -> Extract:
    """Of the card that uses this network's published weights."""
    if network in FLOW:
        return Extract(family="flow", network=network, weights=weights, sampling=FRAMES, outputs=["flow", "magnitude"])
    cards = {card.params.weights: card.params for card in read_cards().values()}
    if network not in cards:
        close = difflib.get_close_matches(network, cards, n=3)
        raise MissingToolError(
            f"no card shows how '{network}' is used; close to it: {', '.join(close) or 'none'}",
            hint="write the entry into params.yaml: docs/extractors.md",
        )
    return cards[network].model_copy(update={"weights": weights})
