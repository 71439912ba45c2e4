"""The transformer beside the LSTMs, at the sizes of docs/real-language.md: training, beam search and consensus.

    python benchmarks/transformer.py

20 frames x 4096 numbers a video, vocabulary 2,266, 64 captions of 16 videos an update; one core, in turn, the best of
three rounds in processor and in wall seconds. Weights and features are random. Random weights end no sentence and never
say the same twice, so a consensus is dearest here: what its samples share in a trained model is nothing here. Then the
transformer's search beside one that computes all words again for every new one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from models.base import Captioner, Features, Modality
from pipeline.captioner import CaptionBatch, SampleSearch, Search, beam_search, build_captioner, mask_special_tokens
from pipeline.captioning.closeness import cider_closeness
from pipeline.captioning.consensus import Consensus
from pipeline.core import keep_freed_memory
from pipeline.corpus import BOS, SPECIALS, Vocabulary

sys.path.insert(0, str(Path(__file__).parent))
import train

VOCABULARY, CAPTIONS, VIDEOS, MAX_WORDS, SAMPLES, ROUNDS = 2266, 64, 50, 12, 40, 3
LSTM = {"word_size": 256, "hidden_size": 256, "attention_size": 128, "dropout": 0.3}
MODELS: dict[str, dict[str, int | float | bool]] = {
    "soft_attention": {**LSTM, "output_size": 256, "order": False},
    "vatex_temporal": {**LSTM, "video_size": 256},
    "transformer": {"word_size": 256, "hidden_size": 256},
}


class Seconds(NamedTuple):
    processor: float
    wall: float


def build(name: str) -> Captioner:
    torch.manual_seed(0)
    return build_captioner(name, vocabulary=VOCABULARY, sizes={"appearance": 4096}, options=MODELS[name])


def features(videos: int) -> Features:
    values = torch.randn(videos, 20, 4096, generator=torch.Generator().manual_seed(0))
    return {"appearance": Modality(values, torch.ones(videos, 20, dtype=torch.bool))}


def captions() -> CaptionBatch:
    """Of benchmarks/train.py, four of each video together."""
    words, chosen = train.captions(4).words[:CAPTIONS], torch.arange(CAPTIONS)
    return CaptionBatch([], chosen // 4, words.where(words < VOCABULARY, words % 2000 + len(SPECIALS)), chosen)


def training(model: Captioner) -> Callable[[], object]:
    given, batch = features(CAPTIONS // 4), captions()
    make = partial(train.make_loss_context, features=given, batch=batch, tables={}, pairs=CAPTIONS)
    return train.updating(model, lambda: model.loss(make(model)))


def searching(model: Captioner, given: Features) -> Callable[[], object]:
    return lambda: beam_search(model.eval(), given, Search(5, MAX_WORDS))


def agreeing(model: Captioner, given: Features) -> Callable[[], object]:
    words = [f"w{number}" for number in range(VOCABULARY - len(SPECIALS))]
    training_captions = {str(row): [" ".join(words[row : row + MAX_WORDS])] * 40 for row in range(1200)}
    draw = partial(SampleSearch(MAX_WORDS, 0.7).draw, count=SAMPLES)
    search = Consensus(draw, cider_closeness(training_captions), Vocabulary((*SPECIALS, *words)))
    videos = [str(row) for row in range(VIDEOS)]
    return torch.inference_mode()(lambda: search(model.eval(), model.encode(given), videos))


@torch.inference_mode()
def greedy(model: Captioner, given: Features, *, cached: bool) -> torch.Tensor:
    """(B, T) words."""
    state = model.eval().encode(given)
    said = torch.full((VIDEOS, 1), BOS)
    for _ in range(MAX_WORDS):
        if cached:
            step = model.step(state, said[:, -1])
            state, output = step.state, step.output
        else:
            outputs = model.all_steps(state, said)
            assert outputs is not None
            output = outputs[:, -1]
        said = torch.cat([said, mask_special_tokens(model.logits(output)).argmax(1, keepdim=True)], 1)
    return said


def in_turn(works: Mapping[str, Callable[[], object]]) -> dict[str, Seconds]:
    """What else the machine does meets all of them."""
    found: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            processor, wall = time.process_time(), time.perf_counter()
            work()
            found[name].append(Seconds(time.process_time() - processor, time.perf_counter() - wall))
    return {name: Seconds(*map(min, zip(*each, strict=True))) for name, each in found.items()}


def told(name: str, count: int, taken: Seconds, first: Seconds) -> None:
    each = f"{count / taken.processor:7.1f} a processor second   {count / taken.wall:7.1f} a second"
    print(f"  {name:16} {each}   {taken.processor / first.processor:5.2f} x the time of the first")


def table(title: str, count: int, works: Mapping[str, Callable[[], object]]) -> dict[str, Seconds]:
    print(title)
    taken = in_turn(works)
    for name, each in taken.items():
        told(name, count, each, next(iter(taken.values())))
    return taken


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    table("training, captions", CAPTIONS, {name: training(build(name)) for name in MODELS})
    models, given = {name: build(name) for name in MODELS}, features(VIDEOS)  # which no update has taught to end
    beams = table("beam 5, videos", VIDEOS, {name: searching(model, given) for name, model in models.items()})
    title = f"consensus of {SAMPLES}, videos"
    agreed = table(title, VIDEOS, {name: agreeing(model, given) for name, model in models.items()})
    for name, each in agreed.items():
        print(f"  {name:16} {each.processor / beams[name].processor:5.2f} x beam 5")
    ways = {way: partial(greedy, models["transformer"], given, cached=way == "cached") for way in ("cached", "anew")}
    table("transformer, greedy, videos", VIDEOS, ways)
    print(f"  the same words: {torch.equal(ways['cached'](), ways['anew']())}")


if __name__ == "__main__":
    main()
