"""What docs/results keeps of the cross-validation is whole, and the page says what is there."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.folds.cross_validation import CrossValidation
from experiments.folds.fold_plan import Fold
from experiments.folds.scoring import read_sentences
from pipeline.core import read_sealed_json
from pipeline.corpus import Corpus

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "results/folds"


def kept_validation() -> CrossValidation:
    plan = read_sealed_json(KEPT / "plan.json", hint="")
    folds = [Fold(**fold) for fold in plan["folds"]]
    clips = {clip: clip for fold in folds for clip in fold.held_out}
    return CrossValidation(Corpus({}, {}), clips, folds, KEPT)


def test_every_clip_has_one_sentence_of_each_system_that_the_page_tells_of() -> None:
    validation = kept_validation()
    shown = json.loads((DOCS / "results/msvd-folds.json").read_text())
    page = (DOCS / "real-language.md").read_text()

    assert len(validation.clips) == shown["clips"] == 1300
    assert read_sentences(validation).keys() == shown["systems"].keys()
    for name, facts in shown["systems"].items():
        assert f"| {100 * facts['scores']['CIDEr-D'][0]:.1f} |" in page, name


def test_a_fold_speaks_of_what_it_holds_out_alone() -> None:
    for path in sorted((KEPT / "sentences").glob("*-fold*.json")):
        fold = kept_validation().folds[int(path.name.partition("-fold")[2][0])]
        said = read_sealed_json(path, hint="")["sentences"]

        assert said.keys() == set(fold.held_out), path
        assert not said.keys() & {*fold.train, *fold.val}
