"""What docs/results keeps of the cross-validation is whole, and the page says what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.folds.cross_validation import CrossValidation
from experiments.folds.fold_plan import Fold
from experiments.folds.scoring import read_sentences
from pipeline.core import read_sealed_json
from pipeline.corpus import Corpus

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("folds", "five-folds")


def kept_validation(name: str) -> CrossValidation:
    kept = DOCS / "results" / name
    plan = read_sealed_json(kept / "plan.json", hint="")
    folds = [Fold(**fold) for fold in plan["folds"]]
    clips = {clip: clip for fold in folds for clip in fold.held_out}
    return CrossValidation(Corpus({}, {}), clips, folds, kept)


@pytest.mark.parametrize("name", NAMES)
def test_every_clip_has_one_sentence_of_each_system_that_the_page_tells_of(name: str) -> None:
    validation = kept_validation(name)
    shown = json.loads((DOCS / f"results/msvd-{name}.json").read_text())
    page = (DOCS / "real-language.md").read_text()

    assert len(validation.clips) == shown["clips"] == 1300
    assert read_sentences(validation).keys() == shown["systems"].keys()
    for system, facts in shown["systems"].items():
        assert f"| {100 * facts['scores']['CIDEr-D'][0]:.1f} |" in page, system


@pytest.mark.parametrize("name", NAMES)
def test_a_fold_speaks_of_what_it_holds_out_alone(name: str) -> None:
    validation = kept_validation(name)
    for path in sorted((validation.results / "sentences").glob("*-fold*.json")):
        fold = validation.folds[int(path.name.partition("-fold")[2][0])]
        said = read_sealed_json(path, hint="")["sentences"]

        assert said.keys() == set(fold.held_out), path
        assert not said.keys() & {*fold.train, *fold.val}
