"""Whether a clip is like anything trained on: by distances of the training clips among themselves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.base import Input
from pipeline.captioning.likeness import likeness_of
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.store import VideoFeatures, open_store, write_store
from pipeline.store.features import rows_of

TRAINING = [f"train{number}" for number in range(120)]
KINDS = np.eye(4, 32, dtype=np.float32) * 5  # four kinds of clips


def clip(kind: np.ndarray, generator: np.random.Generator) -> VideoFeatures:
    rows = kind + generator.normal(size=(3, 32)).astype(np.float32)
    return VideoFeatures(tensors={"pool": rows.astype(np.float32)}, rows=rows_of(3))


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run, and three clips: two of a kind that it knows, one of another."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    trained = {id_: clip(KINDS[number % 4], generator) for number, id_ in enumerate(TRAINING)}
    write_store(Path("features/net"), trained, fingerprint={"net": 1})
    write_corpus(Path("data/captions"), Corpus({"train": TRAINING, "val": [], "test": []}, {}))
    other = np.full(32, -5, np.float32)
    clips = {"like": clip(KINDS[0], generator), "too": clip(KINDS[3], generator), "other": clip(other, generator)}
    write_store(tmp_path / "work/net", clips, fingerprint={"net": 1})
    store = open_store(tmp_path / "work/net")
    source = SimpleNamespace(inputs={"appearance": Input("appearance", "pool")}, stores={"appearance": store})
    facts = {"store": "net", "fingerprint_sha256": open_store(Path("features/net")).manifest["fingerprint_sha256"]}
    return SimpleNamespace(source=source), {"features": {"appearance": facts}}


def test_a_clip_of_another_kind_is_told_and_those_of_a_known_kind_are_not(given: Any) -> None:
    found = likeness_of(*given, ["like", "too", "other"])

    assert {id_: each.unlike for id_, each in found.items()} == {"like": False, "too": False, "other": True}
    assert found["other"].told().startswith("unlike anything it was trained on: the nearest training clip is")


def test_a_training_clip_is_as_near_as_can_be(given: Any) -> None:
    trained, record = given
    trained.source.stores["appearance"] = open_store(Path("features/net"))
    found = likeness_of(trained, record, TRAINING)

    assert max(each.distance for each in found.values()) < 1e-5


@pytest.mark.parametrize("lacking", ["captions", "store", "other features", "too few"])
def test_where_nothing_can_be_told_nothing_is(given: Any, lacking: str) -> None:
    trained, record = given
    if lacking == "captions":
        Path("data/captions/captions.json").unlink()
    elif lacking == "store":
        Path("features/net/store.json").unlink()
    elif lacking == "other features":
        record["features"]["appearance"]["fingerprint_sha256"] = "0" * 64
    else:
        write_corpus(Path("data/captions"), Corpus({"train": TRAINING[:19], "val": [], "test": []}, {}))

    assert likeness_of(trained, record, ["other"]) == {}
