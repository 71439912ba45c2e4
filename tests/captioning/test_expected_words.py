"""Which words are expected of a video: equal to the textbook, own captions left out, worth it where looks mislead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor

from models.base import Input
from pipeline.captioner.batches import FeatureSource
from pipeline.captioning.expected_words import RIDGE, ExpectedWords, ridge_inverse, word_vectors
from pipeline.captioning.nearest_videos import NearestVideos
from pipeline.store import Rows, VideoFeatures, open_store, write_store

SIZES = st.tuples(st.integers(3, 9), st.integers(1, 9), st.integers(2, 5))  # videos, channels, words


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@settings(max_examples=50, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_both_forms_are_the_textbooks_ridge(sizes: tuple[int, int, int], seed: int) -> None:
    rows = drawn(*sizes[:2], seed=seed)

    textbook = torch.linalg.inv(rows.T @ rows + RIDGE * torch.eye(sizes[1])) @ rows.T

    torch.testing.assert_close(ridge_inverse(rows), textbook)


@settings(max_examples=30, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_what_is_left_out_is_what_the_others_let_expect(sizes: tuple[int, int, int], seed: int) -> None:
    videos, channels, count = sizes
    means, words = drawn(videos, channels, seed=seed), drawn(videos, count, seed=seed + 1).abs()
    rows = torch.nn.functional.normalize(means - means.mean(0), dim=1)

    learnt = ExpectedWords.learnt(means, words)

    for video in range(videos):
        others = [place for place in range(videos) if place != video]
        expected = rows[video] @ ridge_inverse(rows[others]) @ words[others]
        torch.testing.assert_close(learnt.left_out[video], torch.nn.functional.normalize(expected, dim=0))


def test_own_captions_change_nothing_of_what_is_left_out() -> None:
    means, words = drawn(6, 4, seed=0), drawn(6, 3, seed=1).abs()
    other = words.clone()
    other[2] = torch.tensor([9.0, 0.0, 1.0])

    before, after = ExpectedWords.learnt(means, words), ExpectedWords.learnt(means, other)

    torch.testing.assert_close(after.left_out[2], before.left_out[2])
    assert not torch.allclose(after.left_out[3], before.left_out[3])


def test_words_count_by_how_many_say_them_and_how_rare_they_are() -> None:
    vectors = word_vectors([["a dog", "a dog dog"], ["a cat", "a dog"], ["a cat"], ["alone"]])

    # a: in three of four videos, cat and dog in two each; `alone` says nothing about others.
    a, dog, cat = np.log(4 / 3), np.log(2), np.log(2)
    expected = torch.tensor([[a, dog, 0], [a, dog / 2, cat / 2], [a, 0, cat], [0, 0, 0]])
    torch.testing.assert_close(vectors, torch.nn.functional.normalize(expected.double(), dim=1), check_dtype=False)


@pytest.fixture
def misleading(tmp_path: Path) -> FeatureSource:
    """Most of a picture is its backdrop, of which nobody speaks; a small number tells dogs from cats."""
    random, features = np.random.default_rng(0), {}
    for number in range(40):
        vector = np.concatenate([3 * random.normal(size=8), [1.0 if number % 2 else -1.0]]).astype(np.float32)
        frames = np.arange(2, dtype=np.int64)
        rows = Rows(first_frame=frames, last_frame=frames, start=frames * 1.0, end=frames + 1.0, valid=frames * 0 + 1)
        features[f"v{number}"] = VideoFeatures(tensors={"pool": np.stack([vector, vector])}, rows=rows)
    write_store(tmp_path / "toy", features, fingerprint={"weights": "random"})
    return FeatureSource({"appearance": open_store(tmp_path / "toy")}, {"frames": Input("appearance", "pool")})


def rightly(source: FeatureSource, asked: list[str], *, by_words: bool) -> float:
    """The share of neighbours with the right animal."""
    captions = {f"v{number}": [f"a {'dog' if number % 2 else 'cat'} is here"] for number in range(30)}
    near = NearestVideos(source, source, "appearance", captions, 5, by_words).neighbours(asked)
    assert all(video not in found and len(found) == 5 for video, found in zip(asked, near, strict=True))
    pairs = [(video, other) for video, found in zip(asked, near, strict=True) for other in found]
    return float(np.mean([int(video[1:]) % 2 == int(other[1:]) % 2 for video, other in pairs]))


@pytest.mark.parametrize("asked", [range(30, 40), range(30)], ids=["new videos", "training videos"])
def test_neighbours_by_words_share_what_is_said_and_not_the_backdrop(misleading: FeatureSource, asked: range) -> None:
    videos = [f"v{number}" for number in asked]

    assert rightly(misleading, videos, by_words=True) > 0.95
    assert rightly(misleading, videos, by_words=False) < 0.8


def test_a_video_without_rows_or_without_shared_words_does_no_harm(misleading: FeatureSource) -> None:
    near = NearestVideos(misleading, misleading, "appearance", {"v1": ["one"], "v2": ["two"]}, 2, by_words=True)

    assert near.neighbours(["v5", "v1"]) == [["v1", "v2"], ["v2"]]
    nobody = NearestVideos(misleading, misleading, "appearance", {"elsewhere": ["one"]}, 2, by_words=True)
    assert nobody.neighbours(["v5"]) == [[]]
