"""Late fusion as an idea: what a reranker takes from two branches, against the better branch alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.mechanisms.trials import SPLITS, SplitCaptions
from pipeline.captioner import inputs_of, open_features
from pipeline.captioning import JoinedSource, RerankerSettings, fuse, train_reranker
from pipeline.corpus import read_corpus, read_vocabulary
from pipeline.params import Train


def fused(
    runs: Sequence[Train], branches: Sequence[SplitCaptions], *, captions: Path, max_words: int, device: str
) -> SplitCaptions:
    """The reranker reads what the branches read, and learns from the same captions for as many epochs."""
    first = runs[0]
    # as small and short as the branches: the published size, 1024, is some fifty times the work
    small = RerankerSettings(
        seed=first.seed, epochs=first.epochs, learning_rate=first.learning_rate, word_size=64, size=128
    )
    sources = [open_features(run.features, inputs_of(run.model, run.tensors)) for run in runs]
    reranker, _ = train_reranker(
        read_corpus(captions),
        read_vocabulary(captions / "vocabulary.json"),
        JoinedSource(sources),
        settings=small,
        max_words=max_words,
        device=device,
    )
    chosen: SplitCaptions = {}
    for split in SPLITS:
        candidates = {run.model: _entries(branch[split]) for run, branch in zip(runs, branches, strict=True)}
        chosen[split] = {video: entry["caption"] for video, entry in fuse(candidates, reranker).items()}
    return chosen


def _entries(captions: dict[str, str]) -> dict[str, dict[str, str]]:
    return {video: {"caption": caption} for video, caption in captions.items()}
