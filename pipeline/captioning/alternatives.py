"""What else a run might have said of its videos: the other beams, and sampled sentences by how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from models.base import State, select
from pipeline.captioner import SampleSearch, Search, TrainedRun, beam_sentences, forced
from pipeline.captioning.chosen_search import training_captions
from pipeline.captioning.closeness import Closeness, bleu_closeness, cider_closeness
from pipeline.captioning.consensus import agreement
from pipeline.params import Caption


@dataclass(frozen=True)
class Alternative:
    caption: str
    log_prob: float
    agreement: float | None = None  # mean closeness to the other candidates, of a consensus
    times: int = 1  # how often it was drawn


@dataclass(frozen=True)
class Alternatives:
    """Of one video, the best first."""

    beams: list[Alternative]
    consensus: list[Alternative]
    utility: str  # by which the consensus agrees


@torch.inference_mode()
def alternatives_of(run: TrainedRun, video: str, *, params: Caption, captions: Path, device: str) -> Alternatives:
    """`captions` is the corpus whose training split weighs the words; without it BLEU-4 says what agrees."""
    state = run.model.eval().encode(run.source.batch([video], device=device))
    (beams,) = beam_sentences(run.model, state, [video], search=Search.of(params))
    (drawn,) = SampleSearch(params.max_words, params.temperature, params.seed).draw(
        run.model, state, [video], count=params.samples
    )
    utility = params.utility if captions.is_dir() else "bleu4"
    closeness = cider_closeness(training_captions(captions)) if utility == "cider" else bleu_closeness
    return Alternatives(_scored(run, state, beams), _agreeing(run, state, drawn, video, closeness), utility)


def _scored(run: TrainedRun, state: State, sentences: Sequence[Sequence[int]]) -> list[Alternative]:
    rows = select(state, torch.zeros(len(sentences), dtype=torch.long, device=next(iter(state.values())).device))
    scored = forced(run.model, rows, sentences) if sentences else []
    return [Alternative(run.vocabulary.decode(each.words), each.log_prob) for each in scored]


def _agreeing(
    run: TrainedRun, state: State, drawn: Sequence[Sequence[int]], video: str, closeness: Closeness
) -> list[Alternative]:
    pool = Counter(run.vocabulary.decode(words) for words in drawn)
    numbers = {run.vocabulary.decode(words): words for words in drawn}
    agreed = agreement({video: pool}, closeness)[video]
    scored = {each.caption: each.log_prob for each in _scored(run, state, [numbers[text] for text in agreed])}
    found = [Alternative(text, scored[text], rate, pool[text]) for text, rate in agreed.items()]
    return sorted(found, key=lambda each: -(each.agreement or 0.0))
