"""Which clips are shown, how words are marked, where words looked."""

from __future__ import annotations

import base64
import io
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.report.clips import Film, build_clip, choose, mark_words
from pipeline.report.pictures import attention_strip, spread_indices, thumbnail
from pipeline.report.results import Attention, Captions, Evaluation, Prediction, Predictions, Run, Scores

SLICED = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.sampled_from(["order", "small", "sound"]))


@given(SLICED, st.integers(0, 12))
def test_examples_are_shared_fairly_between_slices(slices: dict[str, str], count: int) -> None:
    chosen = choose(slices, slices=slices, count=count)

    assert len(chosen) == len(set(chosen)) == min(count, len(slices))
    sizes, taken = Counter(slices.values()), Counter(slices[video] for video in chosen)
    for one in sizes:
        for other in sizes:
            assert taken[one] >= min(taken[other] - 1, sizes[one]), "a slice may lag only when it has no more videos"


@given(SLICED, st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_the_videos(slices: dict[str, str], random: object) -> None:
    shuffled = list(slices)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert choose(shuffled, slices=slices, count=5) == choose(slices, slices=slices, count=5)


def test_slices_take_turns_and_videos_without_one_are_a_slice_of_their_own() -> None:
    slices = {"a": "order", "b": "order", "c": "small"}

    assert choose("abcd", slices=slices, count=4) == ["d", "a", "c", "b"]


@given(st.integers(1, 500), st.integers(1, 8))
def test_frames_are_spread_inside_the_video(frames: int, count: int) -> None:
    indices = spread_indices(frames, count)

    assert indices == sorted(set(indices))
    assert len(indices) == min(frames, count)
    assert indices[0] >= 0
    assert indices[-1] < frames


def test_words_of_no_reference_are_marked_whatever_their_case_and_punctuation() -> None:
    words = mark_words("A purple dog, barks .", ["a dog Barks"])

    assert [(word.text, word.known) for word in words] == [
        ("A", True),
        ("purple", False),
        ("dog,", True),
        ("barks", True),
        (".", True),
    ]


def test_a_thumbnail_is_small_and_keeps_the_shape() -> None:
    frame = np.zeros((480, 640, 3), dtype=np.uint8)
    frame[:, 320:] = (255, 0, 0)

    image = _picture(thumbnail(frame))

    assert image.size == (176, 132)
    assert image.getpixel((10, 60))[0] < 30
    assert image.getpixel((166, 60))[0] > 220


def test_attention_is_carried_by_transparency() -> None:
    image = _picture(attention_strip([0.0, 0.25, 0.5, float("nan")], peak=0.5))

    assert [image.getpixel((x, 0))[3] for x in range(4)] == [0, 128, 255, 0]


def _picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1])))


def _run(name: str, prediction: Prediction, score: float | None) -> Run:
    scores = {"v": {"CIDEr-D": score}} if score is not None else {}
    return Run(
        name=name,
        scores=Scores(scores={}),
        answers=Predictions(predictions={"v": prediction}),
        evaluation=Evaluation(per_video=scores),
        curves={},
        record={},
    )


def test_a_clip_knows_its_mean_and_how_far_the_runs_disagree() -> None:
    runs = [
        _run("a", Prediction(caption="x"), 0.5),
        _run("b", Prediction(caption="y"), 2.0),
        _run("c", Prediction(caption="z"), None),
    ]
    captions = Captions(splits={}, captions={"v": ["x"]}, slices={"v": "order"})

    clip = build_clip("v", runs=runs, captions=captions, film=Film(frames=[]))

    assert clip.mean == pytest.approx(1.25)
    assert clip.spread == pytest.approx(1.5)
    assert [answer.color for answer in clip.answers] == [0, 1, 2]


def test_each_word_says_when_it_looked_hardest() -> None:
    attention = Attention(time=[[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], []])
    prediction = Prediction(caption="red ball .", words=["red", "ball", "."], attention=attention)

    clip = build_clip(
        "v",
        runs=[_run("a", prediction, 1.0)],
        captions=Captions(splits={}, captions={}),
        film=Film(frames=[], duration=8.0),
    )

    looks = clip.answers[0].looks
    assert [(look.word, look.start, look.end) for look in looks] == [("red", 0.0, 2.0), ("ball", 6.0, 8.0)]
    assert looks[1].weight == pytest.approx(0.6)
