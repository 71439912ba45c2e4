"""The picture of the comparisons: every seed is a dot, and what is told from twins is drawn on the scale it has."""

from __future__ import annotations

import json
import re
from pathlib import Path

from experiments.mechanisms import picture

SCORES = {"told_apart": [0.5, 0.6], "cider": [1.0, 1.5]}
BETTER = {"told_apart": [0.8, 0.9], "cider": [2.0, 2.5]}
IDEAS = {"g2l": {"idea": "regions < frames", "slice": "small", "test": {"without": SCORES, "with": BETTER}}}


def test_every_seed_is_a_dot_between_the_marks(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"ideas": IDEAS}))
    picture.main([str(tmp_path / "results.json"), str(tmp_path / "drawn.svg")])
    drawn = (tmp_path / "drawn.svg").read_text()

    assert ">g2l: regions &lt; frames</text>" in drawn
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="3.5"', drawn)]
    told, cider = picture.PANELS
    assert dots == [*map(told.at, (0.5, 0.6, 0.8, 0.9)), *map(cider.at, (1.0, 1.5, 2.0, 2.5))]
    assert told.left < told.at(0.5) < told.at(1.0) == told.left + picture.WIDTH < cider.left


def test_the_dots_of_many_seeds_stay_in_their_row() -> None:
    many = {"told_apart": [0.5] * 20, "cider": [1.0] * 20}
    drawn = picture.draw({"g2l": {"idea": "regions", "slice": "small", "test": {"without": many, "with": many}}})

    heights = [float(y) for y in re.findall(r'cy="([\d.]+)" r="3.5"', drawn)]
    assert len(heights) == 80
    assert max(heights) - min(heights) < picture.ROW


def test_the_picture_in_the_docs_is_that_of_the_results() -> None:
    docs = Path(__file__).parent.parent.parent / "docs"
    found = json.loads((docs / "results/mechanisms.json").read_text())["ideas"]

    assert (docs / "images/mechanisms.svg").read_text() == picture.draw(found)
