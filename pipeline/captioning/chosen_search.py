"""The search that the section `caption` asks for, with what a consensus reads beside the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.base import Captioner, State
from pipeline.captioner import CaptionSearch, FeatureSource, SampleSearch, Search, beam_sentences
from pipeline.captioning.closeness import bleu_closeness, cider_closeness
from pipeline.captioning.consensus import Candidates, Consensus
from pipeline.captioning.nearest_videos import NearestVideos
from pipeline.corpus import Vocabulary, read_corpus
from pipeline.params import Caption


def chosen_search(
    params: Caption, *, vocabulary: Vocabulary, captions: Path, training: FeatureSource, own: FeatureSource
) -> CaptionSearch:
    """`training` are the stores of the project; `own` those of the videos that are to be captioned."""
    if params.search == "beam":
        return Search.of(params)
    if params.search == "sample":
        return _sampling(params)
    references = training_captions(captions)
    return Consensus(
        _candidates(params),
        cider_closeness(references) if params.utility == "cider" else bleu_closeness,
        vocabulary,
        judges=_nearest(params, references, training, own) if params.neighbours else None,
        weight=params.neighbours_weight,
        lend=params.neighbours_lend,
        max_words=params.max_words,
    )


def _nearest(
    params: Caption, references: Mapping[str, Sequence[str]], training: FeatureSource, own: FeatureSource
) -> NearestVideos:
    by_words = params.neighbours_in == "words"
    return NearestVideos(training, own, params.neighbours_by, references, params.neighbours, by_words)


def training_captions(captions: Path) -> dict[str, list[str]]:
    """Of the training split alone, as words."""
    return read_corpus(captions).word_references("train")


def _sampling(params: Caption) -> SampleSearch:
    return SampleSearch(params.max_words, params.temperature, params.seed)


def _candidates(params: Caption) -> Candidates:
    if params.consensus_of == "sample":
        return partial(_sampling(params).draw, count=params.samples)
    if params.consensus_of == "beam":
        return partial(beam_sentences, search=Search.of(params))
    return _silent


def _silent(_model: Captioner, _state: State, videos: Sequence[str]) -> list[list[list[int]]]:
    """The model says nothing, and the neighbours' captions are the candidates."""
    return [[[]] for _ in videos]
