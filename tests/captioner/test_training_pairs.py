"""Pairs of a video and a caption: all of them once an epoch, in batches whose rows belong together."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from models.base import Input
from pipeline.captioner.batches import TrainingPairs, open_features, training_pairs
from pipeline.core.errors import InputError
from pipeline.corpus import Corpus, Vocabulary
from pipeline.corpus.vocabulary import EOS, PAD, UNK
from pipeline.params.train import Slots
from pipeline.store import Rows, VideoFeatures, rows_of, write_store

COUNTS = st.lists(st.integers(1, 5), min_size=1, max_size=6)  # captions of each video


def pairs_of(counts: list[int]) -> TrainingPairs:
    """Captions of different lengths; the first word tells whose caption it is, the second which."""
    places = [(video, place) for video, count in enumerate(counts) for place in range(count)]
    words = [[10 + video, 50 + place, *[9] * place, EOS] for video, place in places]
    return TrainingPairs([f"v{video}" for video, _ in places], words)


@settings(max_examples=40, deadline=None)
@given(counts=COUNTS, size=st.integers(1, 7), seed=st.integers(0, 99))
def test_every_pair_comes_once_with_its_own_video(counts: list[int], size: int, seed: int) -> None:
    pairs = pairs_of(counts)
    batches = list(pairs.batches(size, seed=seed))

    assert [len(batch.words) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert 1 <= len(batches[-1].words) <= size
    assert sorted(pair for batch in batches for pair in batch.pairs.tolist()) == list(range(len(pairs)))
    for batch in batches:
        assert batch.video_ids == sorted({pairs.video_ids[pair] for pair in batch.pairs.tolist()})
        for row, words, pair in zip(batch.video_of.tolist(), batch.words.tolist(), batch.pairs.tolist(), strict=True):
            assert batch.video_ids[row] == f"v{words[0] - 10}"
            assert words == pairs.words[pair] + [PAD] * (len(words) - len(pairs.words[pair]))
        assert max(len(pairs.words[pair]) for pair in batch.pairs.tolist()) == batch.words.shape[1]


@settings(max_examples=40, deadline=None)
@given(counts=COUNTS, limit=st.integers(1, 6), seed=st.integers(0, 99))
def test_a_few_captions_of_each_video_lie_together(counts: list[int], limit: int, seed: int) -> None:
    pairs = pairs_of(counts)
    (batch,) = pairs.batches(99, seed=seed, per_video=limit)
    videos = [pairs.video_ids[pair] for pair in batch.pairs.tolist()]

    assert Counter(videos) == {f"v{video}": min(count, limit) for video, count in enumerate(counts)}
    assert len({*batch.pairs.tolist()}) == len(videos)
    assert sum(a != b for a, b in itertools.pairwise(videos)) == len(counts) - 1


@settings(max_examples=40, deadline=None)
@given(counts=COUNTS, size=st.integers(1, 7), limit=st.integers(0, 6))
def test_steps_are_the_batches_of_an_epoch(counts: list[int], size: int, limit: int) -> None:
    pairs = pairs_of(counts)

    assert pairs.steps(size, per_video=limit) == len(list(pairs.batches(size, seed=0, per_video=limit)))


def test_the_seed_decides_the_order() -> None:
    pairs = pairs_of([4, 4, 4])
    orders = [[batch.pairs.tolist() for batch in pairs.batches(3, seed=seed)] for seed in (0, 0, 1)]

    assert orders[0] == orders[1] != orders[2]


def corpus(**captions: list[str]) -> Corpus:
    splits = {"train": [name for name in captions if name != "other"], "val": [], "test": ["other"]}
    return Corpus(splits=splits, captions={"other": ["not learnt"], **captions})


def test_only_captions_of_the_training_split_are_learnt_and_long_ones_are_cut() -> None:
    vocabulary = Vocabulary.build(["a dog runs", "a cat"])
    pairs = training_pairs(corpus(b=["A dog runs fast!"], a=["a cat", "a bird"]), vocabulary, max_words=3)

    assert pairs.video_ids == ["b", "a", "a"]
    named = [vocabulary.numbers[word] for word in ("a", "dog", "runs", "cat")]
    assert pairs.words == [[*named[:3], EOS], [named[0], named[3], EOS], [named[0], UNK, EOS]]


def test_nothing_to_learn_from_is_told() -> None:
    with pytest.raises(InputError, match="the training split has no captions"):
        training_pairs(corpus(), Vocabulary.build([]), max_words=3)


@pytest.mark.parametrize(
    ("axes", "told"),
    [((1,), "a vector"), ((2,), "regions"), ((3,), "a map"), ((4,), "a map in time"), ((2, 3), "regions or a map")],
)
def test_what_a_model_reads_is_told_by_its_axes(tmp_path: Path, axes: tuple[int, ...], told: str) -> None:
    tensors = {"odd": np.ones((2, 1, 1, 1, 1, 3), np.float32)}
    write_store(tmp_path / "levels", {"v0": VideoFeatures(tensors=tensors, rows=rows_of(2))}, fingerprint={})

    with pytest.raises(InputError, match=f"the model reads {told} per row"):
        open_features(Slots(motion="levels"), {"motion": Input("motion", "odd", axes=axes)}, folder=tmp_path)


def test_rows_are_real_where_they_have_a_real_frame_and_numbers_count_as_vectors_of_one(tmp_path: Path) -> None:
    known = rows_of(3)
    rows = Rows(
        first_frame=known.first_frame, last_frame=known.last_frame, start=known.start, end=known.end,
        valid=np.array([0, 1, 2]),
    )  # fmt: skip
    loud = VideoFeatures(tensors={"level": np.array([5.0, 6.0, 7.0], np.float32)}, rows=rows)
    write_store(tmp_path / "levels", {"v0": loud}, fingerprint={})

    source = open_features(Slots(motion="levels"), {"motion": Input("motion", "level", axes=(0,))}, folder=tmp_path)

    values, mask = source.batch(["v0"])["motion"]
    assert source.sizes == {"motion": 1}
    assert values[0].tolist() == [5.0, 6.0, 7.0]
    assert mask[0].tolist() == [False, True, True]
