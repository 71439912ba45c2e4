"""Videos per second in greedy and beam search, all videos in one call, beside a plain search of one video at a time.

    python benchmarks/search.py

Soft attention at the sizes of benchmarks/train.py on random features, one core; sentences end after ten words, because
untrained models do not end them. The plain search keeps each hypothesis as a list and runs the model on one after
another, as published captioners often do; both must find the same sentences. Then a consensus of 40 samples beside
beam 5; its words come from random training captions, of which it needs the counts.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from models.base import Captioner, Features, Modality, State
from pipeline.captioner import Hypothesis, SampleSearch, Search, beam_search, mask_special_tokens
from pipeline.captioning.closeness import cider_closeness
from pipeline.captioning.consensus import Consensus
from pipeline.core import keep_freed_memory
from pipeline.corpus import BOS, EOS, SPECIALS, Vocabulary

sys.path.insert(0, str(Path(__file__).parent))
from train import VOCABULARY, build, features, seconds

VIDEOS, MAX_WORDS, PLAIN_VIDEOS, SAMPLES = 100, 10, 5, 40
Beam = tuple[float, list[int], State]


def one_video(given: Features, row: int) -> Features:
    return {name: Modality(each.values[row : row + 1], each.mask[row : row + 1]) for name, each in given.items()}


@torch.inference_mode()
def plain_search(model: Captioner, video: Features, *, width: int) -> list[int]:
    """The best sentence of one video."""
    alive: list[Beam] = [(0.0, [BOS], model.encode(video))]
    ended: list[tuple[float, list[int]]] = []
    for position in range(MAX_WORDS + 1):
        last = position == MAX_WORDS
        grown = [each for hypothesis in alive for each in longer(model, *hypothesis, width=width, last=last)]
        known = [(score, words, None) for score, words in ended]
        best = sorted([*known, *grown], key=lambda each: -each[0])[:width]
        ended = [(score, words) for score, words, _ in best if words[-1] == EOS]
        alive = [(score, words, state) for score, words, state in best if words[-1] != EOS and state is not None]
        if not alive:
            break
    return max(ended)[1][1:-1]


def longer(model: Captioner, score: float, words: list[int], state: State, *, width: int, last: bool) -> list[Beam]:
    step = model.step(state, torch.tensor(words[-1:]))
    log_probs = mask_special_tokens(model.logits(step.output))[0]
    chosen = [EOS] if last else log_probs.topk(width).indices.tolist()
    return [(score + float(log_probs[word]), [*words, word], step.state) for word in chosen]


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    model, given = build().eval(), features(VIDEOS)
    for width in (1, 5):
        fast, slow = searching(model, given, width=width), one_at_a_time(model, given, width=width)
        same = sum(words == sentence.words for words, sentence in zip(slow(), fast(), strict=False))
        each, plain = seconds(fast) / VIDEOS, seconds(slow) / PLAIN_VIDEOS
        print(f"beam {width}: {1 / each:7.1f} videos/s   one at a time {1 / plain:6.1f}   ratio {plain / each:.1f}")
        print(f"        the same sentence for {same} of {PLAIN_VIDEOS} videos")
    beams, agreed = seconds(searching(model, given, width=5)), seconds(agreeing(model, given))
    print(f"consensus of {SAMPLES}: {VIDEOS / agreed:6.1f} videos/s   {agreed / beams:.1f} times beam 5")


def searching(model: Captioner, given: Features, *, width: int) -> Callable[[], list[Hypothesis]]:
    return lambda: beam_search(model, given, Search(width, MAX_WORDS))


def agreeing(model: Captioner, given: Features) -> Callable[[], list[Hypothesis]]:
    words = [f"w{number}" for number in range(VOCABULARY - len(SPECIALS))]
    draw = random.Random(0)
    training = {str(video): [" ".join(draw.choices(words, k=MAX_WORDS)) for _ in range(40)] for video in range(1200)}
    search = Consensus(
        partial(SampleSearch(MAX_WORDS, 0.7).draw, count=SAMPLES),
        cider_closeness(training),
        Vocabulary((*SPECIALS, *words)),
    )
    videos = [str(number) for number in range(VIDEOS)]
    return torch.inference_mode()(lambda: search(model, model.encode(given), videos))


def one_at_a_time(model: Captioner, given: Features, *, width: int) -> Callable[[], list[list[int]]]:
    return lambda: [plain_search(model, one_video(given, row), width=width) for row in range(PLAIN_VIDEOS)]


if __name__ == "__main__":
    main()
