"""Figures of the papers from what runs said and where they looked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.report.figures import make_figures
from pipeline.report.results import (
    Captions,
    MaskCurves,
    PredictionEntry,
    PredictionFile,
    ReportedEvaluation,
    ReportedRun,
    ReportedScores,
)
from pipeline.report.word_classes import Lexicon, count_words

TRAINING = [
    "a red ring is moving to the left",
    "a ball moves and a bell rings",
    "a bell ringing",
    "a man is running and stops",
    "stopping a big car",
    "he goes home",
    "going",
]


def test_verbs_are_known_by_their_ing_forms() -> None:
    lexicon = Lexicon.of(TRAINING)

    assert lexicon.classes(["a", "ball", "moves"]) == ["function", "noun", "verb"]
    assert lexicon.classes(["a", "bell", "rings"]) == ["function", "noun", "verb"]
    assert lexicon.classes(["a", "red", "ring", "moves"]) == ["function", "adjective", "noun", "verb"]
    assert lexicon.classes(["ring", "the", "bell"]) == ["verb", "function", "noun"]
    assert lexicon.classes(["stops", "running", "goes", "king", "car"]) == ["verb", "verb", "verb", "noun", "noun"]


def test_the_most_frequent_words_are_left_out_and_classes_counted() -> None:
    said = [f"a {noun} moves" for noun in ("ball", "cube", "star", "heart", "car", "bell") for _ in range(3)]

    counts = count_words("run", said, Lexicon.of(TRAINING))

    assert counts.words == [("heart", "noun", 3), ("star", "noun", 3)]  # without moves and four nouns, by name
    assert counts.shares == pytest.approx({"verb": 1 / 3, "noun": 1 / 3, "adjective": 0, "function": 1 / 3})


def run(name: str, said: str, **facts: Any) -> ReportedRun:
    return ReportedRun(
        name=name,
        scores=ReportedScores(scores={}, spice=facts.get("spice", {})),
        answers=PredictionFile(predictions={"v": PredictionEntry(caption=said, words=said.split())}),
        evaluation=ReportedEvaluation(),
        curves={},
        record={"params": {"model": facts.get("model", "stats"), "options": facts.get("options", {})}},
        mask=facts.get("mask"),
        looks=facts.get("looks", {}),
    )


def figures(*runs: ReportedRun) -> Any:
    return make_figures(runs, Captions(splits={}, captions={"v": ["a ball moves", *TRAINING]}))


def test_views_stand_beside_each_other_where_both_are_here() -> None:
    views = [run(view, "a ball moves", options={"branches": view}) for view in ("st", "ts")]
    other = run("other", "a ball", model="mean_pool")

    assert [counts.name for counts in figures(*views, other).words] == ["st", "ts", "references"]
    assert [counts.name for counts in figures(views[0], other).words] == ["st", "other", "references"]


def test_the_choice_of_views_is_told_by_class() -> None:
    looks = {"v": {"view": np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]])}}

    assert figures(run("both", "a ball moves", looks=looks)).views == {
        "both": pytest.approx({"function": 0.5, "noun": 0.2, "verb": 0.9})
    }


def test_mask_curves_are_shares_of_the_whole_score() -> None:
    mask = MaskCurves(ratios=[0.0, 0.5, 1.0], modules={"attend": {"CIDEr-D": [2.0, 1.9, 0.5]}})
    looks = {"v": {"time": np.ones((1, 1))}}

    found = figures(run("a", "x", mask=mask, looks=looks), run("b", "x", looks=looks), run("c", "x"))

    (drawn,) = found.masks
    assert drawn.table == [("0", ["1.0000"]), ("0.5", ["0.9500"]), ("1", ["0.2500"])]
    assert (drawn.axis, drawn.title) == ("masked share", "a: share of CIDEr-D left")
    assert found.unmasked == ["b"]


def test_spice_kinds_come_in_the_papers_order() -> None:
    found = figures(run("a", "x", spice={"Size": 0.1, "Attribute": 0.2, "Object": 0.3}))

    assert found.kinds == ["Object", "Attribute", "Size"]
