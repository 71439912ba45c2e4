"""The extractor contract, over every card of the catalogue: what is declared is what comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.cards import Card, read_cards
from pipeline.console import Console
from pipeline.execution import InProcess
from pipeline.extraction import extractor_of
from pipeline.params import Decode, Extract
from pipeline.stages import decode, extract
from pipeline.store import open_store
from pipeline.weights import NONE, REGISTRY
from tests.clips import tone, write_clip

QUIET = Console(quiet=True)
CARDS = read_cards()
LENGTHS = (1, 2, 15, 16, 17, 100)
# Detectors take a minute a frame at their own size; the shapes of their outputs do not depend on it
SMALLER = {
    "faster_rcnn": {"short_side": 64, "long_side": 96, "proposals": 8},
    "mask_rcnn": {"short_side": 32, "detector_short_side": 64, "detector_long_side": 96, "proposals": 8},
}
every_card = pytest.mark.parametrize("name", CARDS)


def untrained(card: Card, outputs: list[str] | None = None) -> Extract:
    options = card.params.options | SMALLER.get(card.params.family, {})
    changes = {"weights": "random", "outputs": outputs or card.params.outputs, "options": options}
    return card.params.model_copy(update=changes)


@every_card
def test_the_weights_are_in_the_registry_under_the_same_licence(name: str) -> None:
    card = CARDS[name]

    if card.params.weights != NONE:
        assert card.params.weights in REGISTRY
        assert REGISTRY[card.params.weights].licence in card.licence
    assert set(card.params.outputs) <= set(card.taps)


@every_card
def test_every_tap_has_the_declared_shape(name: str) -> None:
    card = CARDS[name]
    extractor = extractor_of(untrained(card, list(card.taps)), device="cpu")

    assert {tap: list(shape) for tap, shape in extractor.outputs.items()} == card.taps


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips of awkward lengths, with a silent sound track and without any."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "videos").mkdir()
    for frames in LENGTHS:
        silence = tone(frames / 25, rate=16000, loudness=0.0)
        write_clip(folder / f"videos/silent_{frames:03}.mp4", frames=frames, sound=silence)
        write_clip(folder / f"videos/soundless_{frames:03}.mp4", frames=frames)
    decode.run(videos=folder / "videos", out=folder / "index", params=Decode(), console=QUIET)
    return folder / "index"


@every_card
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rows_and_shapes_of_awkward_clips(
    name: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    card = CARDS[name]
    extract.run(
        {name: untrained(card)},
        index=index,
        outs={name: tmp_path / name},
        executor=InProcess(),
        device="cpu",
        console=QUIET,
    )
    store = open_store(tmp_path / name)

    assert len(store) == 2 * len(LENGTHS)
    for video_id in store:
        video, frames = store[video_id], int(video_id[-3:])
        for tap in card.params.outputs:
            assert list(video[tap].shape) == [len(video.rows), *card.taps[tap]]
            assert np.isfinite(video[tap]).all()
        assert np.all(video.rows.first_frame <= video.rows.last_frame)
        assert np.all((video.rows.first_frame >= 0) & (video.rows.last_frame < frames))
        assert np.all(video.rows.start <= video.rows.end)
