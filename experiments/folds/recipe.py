"""What is trained on every fold: an entry of `train` in params.yaml, or the peer under the same contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks import peer
from models.base import Captioner
from pipeline.captioner import FeatureSource, load_model, open_features, open_run, steady_arithmetic
from pipeline.core import cache_folder, file_sha256, record_sha256
from pipeline.corpus import Vocabulary, read_corpus, read_vocabulary
from pipeline.params import Assemble, Caption, Params, Train, read_yaml
from pipeline.runs import read_record
from pipeline.training import Trainer, prepare

FILE = Path(__file__).with_name("recipes.yaml")
PEER = "peer"


@dataclass(frozen=True)
class Recipe:
    name: str
    assemble: Assemble
    train: Train

    def trainer(self, captions: Path, *, seed: int, start_from: str) -> Trainer:
        """The project's own loop."""
        run = self.train.model_copy(update={"seed": seed, "start_from": start_from})
        if self.train.model == PEER:
            return _peer_trainer(run, captions, max_words=self.assemble.max_words)
        return prepare(run, captions=captions, max_words=self.assemble.max_words, device="cpu")


@dataclass(frozen=True)
class OpenModel:
    model: Captioner
    source: FeatureSource
    vocabulary: Vocabulary


def read_recipes(params: Params) -> dict[str, Recipe]:
    known = {name: Recipe(name, params.assemble, run) for name, run in params.train.items()}
    entry = read_yaml(FILE)[PEER]
    return {
        **known,
        PEER: Recipe(PEER, Assemble.model_validate(entry["assemble"]), Train.model_validate(entry["train"])),
    }


def read_decodings(caption: Caption) -> dict[str, Caption]:
    """The section `caption` of params.yaml as each way to decode changes it; of no split, for a fold has its own."""
    entries: Mapping[str, Mapping[str, Any]] = read_yaml(FILE)["decodings"]
    return {name: Caption.model_validate({**caption.model_dump(), **entry}) for name, entry in entries.items()}


def open_model(folder: Path) -> OpenModel:
    """A trained run, of ours or of the peer."""
    facts = read_record(folder)
    if facts["params"]["model"] != PEER:
        run = open_run(folder, device="cpu")
        return OpenModel(run.model, run.source, run.vocabulary)
    steady_arithmetic()
    vocabulary = Vocabulary(tuple(facts["vocabulary"]))
    model = peer.build(vocabulary=len(vocabulary), sizes=facts["sizes"])
    load_model(folder / "model.safetensors", model)
    return OpenModel(model, _peer_features(Train.model_validate(facts["params"])), vocabulary)


def _peer_features(run: Train) -> FeatureSource:
    return open_features(run.features, peer.PeerCaptioner.inputs)


def _peer_trainer(run: Train, captions: Path, *, max_words: int) -> Trainer:
    """As `prepare` does for models of the project; progress is kept under all that decides the result."""
    steady_arithmetic()
    torch.manual_seed(run.seed)
    corpus, vocabulary = read_corpus(captions), read_vocabulary(captions / "vocabulary.json")
    source = _peer_features(run)
    model = peer.build(vocabulary=len(vocabulary), sizes=source.sizes)
    decides = {
        "params": run.model_dump(),
        "max_words": max_words,
        "captions": {path.name: file_sha256(path) for path in sorted(captions.glob("*.json"))},
        "features": {slot: store.manifest["shards"] for slot, store in source.stores.items()},
        "code": file_sha256(Path(peer.__file__)),
    }
    return Trainer(
        model, corpus, vocabulary, source, run, max_words, cache_folder("training") / record_sha256(decides), "cpu"
    )
