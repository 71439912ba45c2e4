"""How like the training clips a video is: its distance to the nearest of them, beside their distances to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.captioner import TrainedRun
from pipeline.core import FEWEST_VIDEOS, FramescribeError
from pipeline.corpus import read_corpus
from pipeline.store import FEATURES, Store, open_store

CAPTIONS = Path("data/captions")
MOST = 2000  # training clips that are compared; more change the limit little and cost memory
SHARE = 99  # per cent of the training clips that are nearer to another one than the limit


@dataclass(frozen=True)
class Likeness:
    """Cosine distances of mean features, 0 to 2, once the mean of the training clips is taken from all."""

    store: str
    distance: float  # to the nearest training clip
    limit: float  # as far is one training clip in a hundred from the nearest other

    @property
    def unlike(self) -> bool:
        return self.distance > self.limit

    def told(self) -> str:
        return (
            f"unlike anything it was trained on: the nearest training clip is {self.distance:.2f} away by {self.store},"
            f" and {SHARE} % of the training clips have one within {self.limit:.2f}. Do not rely on the sentence"
        )


def likeness_of(
    trained: TrainedRun, record: Mapping[str, Any], ids: Sequence[str], *, captions: Path = CAPTIONS
) -> dict[str, Likeness]:
    """Of each video; of none where the training clips' features are not here, are others now, or are too few."""
    name, wanted = next(iter(trained.source.inputs.items()))
    theirs = trained.source.stores[wanted.slot]
    clips = _training_clips(record["features"][name], captions)
    if len(clips) < FEWEST_VIDEOS or not ids:
        return {}
    ours = open_store(FEATURES / record["features"][name]["store"])
    learnt = _means(ours, wanted.tensor, clips)  # (N, C)
    centre = learnt.mean(0)
    learnt, given = _unit(learnt - centre), _unit(_means(theirs, wanted.tensor, ids) - centre)
    among = 1 - learnt @ learnt.T  # (N, N)
    np.fill_diagonal(among, np.inf)
    limit = float(np.percentile(among.min(1), SHARE))
    nearest = (1 - given @ learnt.T).min(1)
    return {id_: Likeness(theirs.folder.name, float(far), limit) for id_, far in zip(ids, nearest, strict=True)}


def _training_clips(facts: Mapping[str, Any], captions: Path) -> list[str]:
    """Those whose features are the very ones that the run read, every so many where they are very many."""
    try:
        store = open_store(FEATURES / facts["store"])
        clips = [id_ for id_ in read_corpus(captions).splits["train"] if store.state(id_) == "present"]
    except FramescribeError:
        return []
    if store.manifest["fingerprint_sha256"] != facts["fingerprint_sha256"]:
        return []
    return clips[:: -(-len(clips) // MOST) or 1]


def _means(store: Store, tensor: str, ids: Sequence[str]) -> np.ndarray:
    """(N, C) float32: over the rows of each video, and over regions or places."""
    return np.stack([_mean(store[id_][tensor]) for id_ in ids])


def _mean(array: np.ndarray) -> np.ndarray:
    rows = array.reshape(-1, array.shape[-1]).astype(np.float32)
    return rows.mean(0) if len(rows) else np.zeros(array.shape[-1], np.float32)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
