"""Which videos come first, how words are marked, and what a video's file tells."""

from __future__ import annotations

import io
from collections import Counter

import numpy as np
from hypothesis import given, strategies as st
from PIL import Image

from pipeline.report.clip_entries import choose, detail, list_entry, odd_words
from pipeline.report.films import Film, no_film, side_by_side, spread_indices, thumbnail
from pipeline.report.results import (
    Captions,
    PredictionEntry,
    PredictionFile,
    ReportedEvaluation,
    ReportedRun,
    ReportedScores,
)

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
    assert odd_words("A purple dog, barks .", ["a dog Barks"]) == [1]
    assert odd_words("a purple dog", []) == []
    assert odd_words("一 个 紫 狗", ["一个狗。"]) == [2]


def test_pictures_are_small_keep_their_shape_and_lie_side_by_side() -> None:
    frame = np.zeros((480, 640, 3), dtype=np.uint8)
    frame[:, 320:] = (255, 0, 0)
    white = np.full_like(frame, 255)

    sheet = Image.open(io.BytesIO(side_by_side([thumbnail(frame), thumbnail(white)])))

    assert sheet.size == (2 * 176, 132)
    assert sheet.getpixel((10, 60))[0] < 30
    assert sheet.getpixel((160, 60))[0] > 220
    assert min(sheet.getpixel((200, 60))) > 240


def test_the_nearest_picture_is_found_by_frame_and_by_second() -> None:
    film = Film(size=(4, 3), duration=4.0, numbers=[2, 6, 20], seconds=[0.2, 0.6, 2.0], strip=[0, 2])

    assert [film.nearest(frame) for frame in (0, 3, 5, 13, 14, 99)] == [0, 0, 1, 1, 2, 2]
    assert film.at(1.9) == 2
    assert no_film("gone").nearest(7) == 0


def _run(name: str, prediction: PredictionEntry, scores: dict[str, float]) -> ReportedRun:
    return ReportedRun(
        name=name,
        scores=ReportedScores(scores={}),
        answers=PredictionFile(predictions={"v": prediction}),
        evaluation=ReportedEvaluation(per_video={"v": scores} if scores else {}),
        curves={},
        record={},
        looks={"v": {"time": np.array([[0.7, 0.3]]), "times": np.array([[0, 1], [2, 3]], np.float32)}}
        if scores
        else {},
    )


def test_an_entry_has_what_every_run_said_and_its_scores() -> None:
    runs = [
        _run("a", PredictionEntry(caption="red ball", log_prob=-1.23456), {"CIDEr-D": 0.5, "METEOR": 0.25}),
        _run("b", PredictionEntry(caption="y"), {}),
    ]
    captions = Captions(splits={}, captions={"v": ["a ball"]}, slices={"v": "order"})

    entry = list_entry("v", runs=runs, metrics=["CIDEr-D", "METEOR"], captions=captions)

    first, second = entry["said"]
    assert (first["words"], first["odd"], first["score"], first["scores"]) == (["red", "ball"], [0], 0.5, [0.5, 0.25])
    assert first["log_prob"] == -1.2346
    assert (second["score"], second["scores"], second["log_prob"]) == (None, [None, None], None)
    assert (entry["slice"], entry["references"]) == ("order", ["a ball"])


def test_an_entry_has_the_first_reading_only_where_there_is_one() -> None:
    runs = [
        _run("a", PredictionEntry(caption="red ball", first_reading="a blue ball"), {}),
        _run("b", PredictionEntry(caption="y", first_reading=""), {}),
        _run("c", PredictionEntry(caption="y"), {}),
    ]

    said = list_entry("v", runs=runs, metrics=[], captions=Captions(splits={}, captions={"v": ["a ball"]}))["said"]

    assert said[0]["first"] == {"words": ["a", "blue", "ball"], "odd": [1]}
    assert said[1]["first"] == {"words": [], "odd": []}
    assert "first" not in said[2]


def test_the_detail_has_looks_only_of_runs_that_recorded_them() -> None:
    runs = [_run("a", PredictionEntry(caption="ball"), {"CIDEr-D": 0.5}), _run("b", PredictionEntry(caption="y"), {})]

    found = detail("v", runs=runs, film=no_film("gone", duration=4.0), picture="")

    (look,) = found["looks"]
    assert (look["run"], look["words"], look["time"]) == (0, ["ball"], [[700, 300]])
    assert look["edges"] == [0.0, 1.5, 4.0]  # rows are samples: each stands for the time that is nearest to it
    assert found["film"]["problem"] == "gone"
