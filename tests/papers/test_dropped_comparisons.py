"""Would the tests of differences notice a comparison that is gone? Each is dropped, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest

from pipeline.corpus import SPECIALS
from pipeline.papers import agreement, differing
from pipeline.papers.agreement import Settings
from pipeline.papers.differing import Made
from pipeline.papers.recipes import Recipe
from pipeline.papers.tables import AS_PUBLISHED

from .test_tables import (
    DIFFERENCES,
    DUALAFR,
    ENSEMBLE,
    ENSEMBLE_ROW,
    FUSED,
    FUSED_ROW,
    G2L,
    G2L_ROW,
    VALUES,
    VATEX,
    Facts,
    here_of,
    lines,
    made,
    setting,
    told_after,
)

SEVERAL = ("no fingerprint", "no stages")  # kinds that take more than one comparison with them
FUSION = "vatex_temporal_rl-or-vatex_spatial_rl"
CHANGES: dict[str, Callable[[Facts], None]] = {
    **{kind: change for kind, (change, _) in DIFFERENCES.items() if kind not in SEVERAL},
    **{key: setting("record", "params", key, to=value) for key, value in VALUES.items()},
}
GROUPS = ("options.", "features.", "sampling.", "tensors.", "rewards.")  # one name of each stands for all of it


class Compared:
    """`disagreements` as it is, but for the comparisons of one name; and the names of all that were asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.dropped = ""

    def __call__(self, wanted: Settings, found: Settings, *, prefix: str = "") -> list[str]:
        self.names |= {prefix + name for name in [*wanted, *found]}
        kept = [
            {name: each for name, each in side.items() if prefix + name != self.dropped} for side in (wanted, found)
        ]
        return agreement.disagreements(*kept, prefix=prefix)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    watched = Compared()
    monkeypatch.setattr(differing, "disagreements", watched)
    return watched


def name_of(compared: Compared, told: str) -> str:
    """The comparison that a remark is of: `caption.beam` of "caption.beam 1, not 5"."""
    return max((name for name in compared.names if told.startswith(f"{name} ")), key=len)


def kind_of(name: str) -> str:
    field = name.rpartition(": ")[2]
    return next((group for group in GROUPS if field.startswith(group)), field)


@pytest.mark.parametrize("kind", CHANGES)
def test_a_dropped_comparison_leaves_its_difference_untold(compared: Compared, kind: str) -> None:
    (told,) = told_after(CHANGES[kind])
    assert told != AS_PUBLISHED

    compared.dropped = name_of(compared, told)

    assert told_after(CHANGES[kind]) == [AS_PUBLISHED]


def test_no_comparison_of_a_run_can_be_dropped_unnoticed(compared: Compared) -> None:
    """Each that is made has a kind of difference above, or a test of its own that is named here."""
    noticed = {kind_of(name_of(compared, *told_after(change))) for change in CHANGES.values()}
    assert told_after(lambda _: None) == [AS_PUBLISHED]

    elsewhere = {
        "stages",  # "no stages", with the stage that is one too many
        "baseline",  # below: alone it is no valid schedule
        "train videos",  # below
        "val videos",
        "assemble.words",  # below
    }
    assert {kind_of(name) for name in compared.names} - noticed == elsewhere


def test_words_of_another_alphabet_are_told(compared: Compared) -> None:
    words = {"狗": 10**6, **here_of(G2L).words}
    run = made(G2L, "g2l")
    known = [word for word, count in words.items() if count >= G2L.assemble.min_count]
    run = replace(run, records={"g2l": {**run.records["g2l"], "vocabulary": [*SPECIALS, *known]}})
    here = replace(here_of(G2L), words=words)

    assert lines(G2L, [run], here=here)[G2L_ROW].remarks == ["assemble.words unicode, not latin"]
    compared.dropped = "assemble.words"
    assert lines(G2L, [run], here=here)[G2L_ROW].remarks == [AS_PUBLISHED]


@pytest.mark.parametrize("split", ["train", "val"])
def test_the_videos_of_each_split_are_compared(compared: Compared, split: str) -> None:
    here = replace(here_of(G2L), videos=dict(here_of(G2L).videos) | {split: 4})

    told = lines(G2L, [made(G2L, "g2l")], here=here)[G2L_ROW].remarks
    compared.dropped = f"{split} videos"

    assert told == [f"{split} videos 4, not {G2L.recipe.videos[split]}"]  # type: ignore[index]
    assert lines(G2L, [made(G2L, "g2l")], here=here)[G2L_ROW].remarks == [AS_PUBLISHED]


def with_origin(run: Made, change: Callable[[Facts], None]) -> Made:
    origin = deepcopy(dict(run.origin))
    change(origin)
    return replace(run, origin=origin)


def seed_of_a_member(run: Made) -> Made:
    records = deepcopy(dict(run.records))
    first = sorted(records)[0]
    return replace(run, records=records | {first: records[first] | {"params": records[first]["params"] | {"seed": 99}}})


def third_candidate(origin: Facts) -> None:
    origin["candidates"]["third"] = {}


OF_SEVERAL: dict[str, tuple[Recipe, str, Made, str, str]] = {  # recipe, row, made, comparison, what is told
    "members of an ensemble": (
        DUALAFR,
        ENSEMBLE_ROW,
        with_origin(
            made(DUALAFR, "dualafr_msvd_soft_ensemble", ENSEMBLE), lambda origin: origin["members"].update(other="")
        ),
        "captioned by",
        "captioned by dualafr_msvd_soft + ",
    ),
    "training of a member": (
        DUALAFR,
        ENSEMBLE_ROW,
        seed_of_a_member(made(DUALAFR, "dualafr_msvd_soft_ensemble", ENSEMBLE)),
        "seed",
        "dualafr_msvd_soft: seed 99, not 0",
    ),
    "members of a fusion": (
        VATEX,
        FUSED_ROW,
        with_origin(made(VATEX, FUSION, FUSED, split="val"), third_candidate),
        "fusion of",
        "fusion of third, vatex_spatial_rl, vatex_temporal_rl, not vatex_spatial_rl, vatex_temporal_rl",
    ),
    "epochs of a fusion": (
        VATEX,
        FUSED_ROW,
        with_origin(made(VATEX, FUSION, FUSED, split="val"), setting("settings", "epochs", to=1)),
        "fuse.epochs",
        "fuse.epochs 1, not 30",
    ),
    "seed of a fusion": (
        VATEX,
        FUSED_ROW,
        with_origin(made(VATEX, FUSION, FUSED, split="val"), setting("settings", "seed", to=3)),
        "fuse.seed",
        "fuse.seed 3, not 0",
    ),
}


@pytest.mark.parametrize("kind", OF_SEVERAL)
def test_a_dropped_comparison_of_several_runs_leaves_it_untold(compared: Compared, kind: str) -> None:
    recipe, row, run, name, expected = OF_SEVERAL[kind]

    (told,) = lines(recipe, [run])[row].remarks
    compared.dropped = name

    assert told.startswith(expected)
    assert lines(recipe, [run])[row].remarks == [AS_PUBLISHED]


def test_the_baseline_of_the_rewards_is_compared(compared: Compared) -> None:
    run = made(VATEX, "vatex_temporal_rl", split="val")
    stage = run.records["vatex_temporal_rl"]["params"]["then"][0]
    stage |= {"baseline": "others", "samples": 6}  # the others' mean is of several

    told = lines(VATEX, [run])["temporal attention, RL"].remarks
    compared.dropped = "stage 2 baseline"

    assert "stage 2 baseline others, not greedy" in told
    assert not any("baseline" in text for text in lines(VATEX, [run])["temporal attention, RL"].remarks)
