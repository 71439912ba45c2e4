"""How often clips are told from their twins, and that every idea is compared with the same model without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.mechanisms.ideas import merged, read_ideas
from experiments.mechanisms.referee import Referee, read_twins
from pipeline.captioner.build_model import build_captioner
from pipeline.corpus.corpus import Corpus
from pipeline.params.train import Train

CORPUS = Corpus(
    splits={"test": ["left", "right", "bell", "drum"]},
    captions={
        "left": ["a ball rolls left", "a red ball rolls to the left"],
        "right": ["a ball rolls right", "a red ball rolls to the right"],
        "bell": ["a cube falls while a bell rings"],
        "drum": ["a cube falls while a drum beats"],
    },
    slices={"left": "order", "right": "order", "bell": "sound", "drum": "sound"},
)
TWINS = {"left": "right", "right": "left", "bell": "drum", "drum": "bell"}


def test_who_perceives_the_one_thing_tells_twins_apart() -> None:
    said = {video: CORPUS.captions[video][0] for video in CORPUS.splits["test"]}

    scores = Referee(CORPUS, TWINS).score(said)

    assert {label: each["told_apart"] for label, each in scores.items()} == {"all": 1.0, "order": 1.0, "sound": 1.0}


def test_who_says_the_same_of_both_twins_is_right_by_chance() -> None:
    said = {"left": "a ball rolls", "right": "a ball rolls left", "bell": "a cube falls while a bell rings"}
    said["left"], said["drum"] = said["right"], said["bell"]

    scores = Referee(CORPUS, TWINS).score(said)

    assert scores["order"]["told_apart"] == scores["sound"]["told_apart"] == 0.5
    assert (
        scores["sound"]["cider"]
        < Referee(CORPUS, TWINS).score({**said, "drum": CORPUS.captions["drum"][0]})["sound"]["cider"]
    )


def test_a_sentence_that_fits_both_alike_counts_half_and_a_wrong_one_nothing() -> None:
    said = {"left": "a ball", "right": "a ball", "bell": "a drum beats", "drum": "a bell rings"}

    scores = Referee(CORPUS, TWINS).score(said)

    assert (scores["order"]["told_apart"], scores["sound"]["told_apart"]) == (0.5, 0.0)


def test_clips_without_a_twin_are_left_out(tmp_path: Path) -> None:
    scenes = tmp_path / "scenes.jsonl"
    clips = [
        {"video_id": "left", "twin": "right"},
        {"video_id": "right", "twin": "left"},
        {"video_id": "x", "twin": None},
    ]
    scenes.write_text("".join(f"{json.dumps(clip)}\n" for clip in clips))

    assert read_twins(scenes) == {"left": "right", "right": "left"}


def changes(before: Train, after: Train) -> list[str]:
    """What differs, as paths of keys."""
    first, second = before.model_dump(), after.model_dump()
    found = [key for key in first if not isinstance(first[key], dict) and first[key] != second[key]]
    for section in (key for key in first if isinstance(first[key], dict)):
        names = first[section].keys() | second[section].keys()
        found += [f"{section}.{name}" for name in names if first[section].get(name) != second[section].get(name)]
    return found


@pytest.mark.parametrize(
    "idea", [each for each in read_ideas().ideas.values() if not each.fused], ids=lambda each: each.name
)
def test_an_idea_is_one_change(idea) -> None:
    assert len(changes(*idea.runs)) == 1


@pytest.mark.parametrize("idea", read_ideas().ideas.values(), ids=lambda each: each.name)
def test_every_run_can_be_built(idea) -> None:
    sizes = dict.fromkeys(
        ("appearance", "motion", "sound", "regions", "objects", "fc7", "pool2", "pool3", "pool4", "pool5"), 4
    )
    for run in idea.runs:
        build_captioner(run.model, vocabulary=9, sizes=sizes, options=run.options)


def test_changes_go_into_sections() -> None:
    base = {"options": {"a": 1, "b": 2}, "seed": 0}

    assert merged(base, {"options": {"b": 3}}) == {"options": {"a": 1, "b": 3}, "seed": 0}
    assert base == {"options": {"a": 1, "b": 2}, "seed": 0}
