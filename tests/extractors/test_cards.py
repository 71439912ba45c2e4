"""The extractor contract, over every card of the catalogue: what is declared is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.catalogue.cards import Card, read_cards
from pipeline.core.errors import UsageError
from pipeline.extraction.build_extractor import extractor_of
from pipeline.params.extract import Extract
from pipeline.weights import NONE, REGISTRY, entry
from tests.extractors.awkward import clips_of_both_kinds, extracted, require_contract

CARDS = read_cards()
# Detectors take a minute a frame at their own size; the shapes of these outputs do not depend on it
SMALLER = {
    "flow": {"short_side": 64},
    "i3d": {"side": 64},
    "faster_rcnn": {"short_side": 64, "long_side": 96, "proposals": 8},
    "yolo": {"short_side": 32},
    "mask_rcnn": {"short_side": 32, "detector_short_side": 64, "detector_long_side": 96, "proposals": 8},
    "transformers:vjepa2": {"config": '{"num_hidden_layers": 2}'},
}
ON_META = ("frames", "transformers")  # families whose shapes can be told without memory
every_card = pytest.mark.parametrize("name", CARDS)


def untrained_and_small(card: Card) -> Extract:
    asked = SMALLER.get(card.params.network) or SMALLER.get(card.params.family, {})
    options = card.params.options | asked
    return card.params.model_copy(update={"weights": "random", "options": options})


@every_card
def test_the_weights_are_in_the_registry_under_the_same_licence(name: str) -> None:
    card = CARDS[name]

    if card.params.weights != NONE:
        of_library = card.params.weights.partition(":")[0] == card.params.network.partition(":")[0]
        assert card.params.weights in REGISTRY or of_library
        assert entry(card.params.weights).licence in card.licence
    assert set(card.params.outputs) <= set(card.taps)


@every_card
def test_every_tap_has_the_declared_shape(name: str) -> None:
    card = CARDS[name]
    params = card.params.model_copy(update={"weights": "random", "outputs": list(card.taps)})
    device = "meta" if params.family in ON_META else "cpu"
    with torch.device(device):
        extractor = extractor_of(params, device=device)

    assert {tap: list(shape) for tap, shape in extractor.outputs.items()} == card.taps


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.million_parameters])
def test_the_size_is_the_networks(name: str) -> None:
    with torch.device("meta"):
        extractor = extractor_of(CARDS[name].params.model_copy(update={"weights": "random"}), device="meta")

    count = sum(each.numel() for each in extractor.network.parameters()) / 1e6
    assert count == pytest.approx(CARDS[name].million_parameters, abs=0.06)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clips_of_both_kinds(tmp_path_factory.mktemp("clips"))


@every_card
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rows_and_shapes_of_awkward_clips(
    name: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    card = CARDS[name]

    store = extracted(untrained_and_small(card), tmp_path, index=index)

    require_contract(store, {tap: card.taps[tap] for tap in card.params.outputs})


@every_card
def test_a_network_with_a_typo_is_refused(name: str) -> None:
    """It would stand in the fingerprint as another network."""
    card = CARDS[name]
    wrong = card.params.model_copy(update={"network": f"{card.params.network}x", "weights": "random"})

    with pytest.raises(UsageError, match=card.params.network.partition(":")[2] or card.params.network):
        extractor_of(wrong, device="cpu")
