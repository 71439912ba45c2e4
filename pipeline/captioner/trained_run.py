"""A trained run, opened for captioning: its model, vocabulary and the stores that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from models.base import Captioner
from pipeline.captioner.batches import FeatureSource, open_features
from pipeline.captioner.build_model import build_captioner, inputs_of
from pipeline.captioner.checkpoint import load_model
from pipeline.core import InputError, keep_freed_memory
from pipeline.corpus import Vocabulary
from pipeline.params import Train
from pipeline.runs import FEATURES, read_record
from pipeline.store import other_meaning


def steady_arithmetic() -> None:
    """One thread: these models are small, and their bits must not depend on the number of cores."""
    torch.set_num_threads(1)
    keep_freed_memory()


@dataclass(frozen=True)
class TrainedRun:
    """A trained run, ready to caption."""

    params: Train
    model: Captioner
    vocabulary: Vocabulary
    source: FeatureSource


def open_run(folder: Path, *, device: str, features: Path = FEATURES) -> TrainedRun:
    facts = read_record(folder)
    steady_arithmetic()
    params = Train.model_validate(facts["params"])
    vocabulary = Vocabulary(tuple(facts["vocabulary"]))
    source = open_features(params.features, inputs_of(params.model, params.tensors), folder=features)
    _require_same_features(source, facts, run=folder.name)
    model = build_captioner(params.model, vocabulary=len(vocabulary), sizes=facts["sizes"], options=params.options).to(
        device
    )
    load_model(folder / "model.safetensors", model, hint=f"dvc repro --force train@{folder.name}")
    return TrainedRun(params, model, vocabulary, source)


def _require_same_features(source: FeatureSource, facts: dict[str, Any], *, run: str) -> None:
    """Numbers of another network or sampling may fit the model, and mean nothing to it.

    Those of another device or library version are the same but for rounding: train on a GPU, caption on a laptop.
    """
    for name, wanted in source.inputs.items():
        store, learnt = source.stores[wanted.slot], facts["features"][name]
        if learnt["fingerprint_sha256"] == store.manifest["fingerprint_sha256"]:
            continue
        changed = other_meaning(learnt.get("fingerprint", {}), store.manifest["fingerprint"])
        if changed:
            told = ", ".join(f"{field} {before} -> {after}" for field, before, after in changed[:4])
            raise InputError(f"'{run}' was trained on other features than {store.folder} has: {told}", hint="dvc repro")
