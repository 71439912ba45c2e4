"""The papers' ideas on the demo set with real weights: minutes each, some forty for all on two cores."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from experiments.mechanisms.comparing import IdeaComparison
from experiments.mechanisms.ideas import read_ideas
from pipeline.cli import main
from pipeline.core.console import Console
from pipeline.core.executors import LocalProcesses
from pipeline.params.file import load_params

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
ROOT = Path(__file__).parent.parent.parent
WEIGHTS = ("mobilenet_v2", "i3d_rgb", "soundnet")
TOLD = dict.fromkeys(("vatex_sound", "g2l", "stats", "stats_loss"), "told_apart")
RAISED = TOLD | dict.fromkeys(("vatex_fusion", "dualafr_i3d"), "cider")  # the other ideas do not help: docs/models.md


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdeaComparison]:
    """In a project of its own; what ideas share is extracted once."""
    missing = [name for name in WEIGHTS if not (ROOT / "weights" / f"{name}.safetensors").is_file()]
    if missing:
        pytest.skip(f"needs weights: framescribe weights fetch {' '.join(missing)}")
    folder = tmp_path_factory.mktemp("mechanisms")
    shutil.copy(ROOT / "params.yaml", folder)
    (folder / "weights").symlink_to(ROOT / "weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        for command in ("demo-data", "decode", "assemble"):
            assert main([command, "--quiet"]) == 0
        yield IdeaComparison(load_params(), LocalProcesses(2), "cpu", Console(quiet=True))


@pytest.mark.parametrize(("name", "score"), RAISED.items())
def test_the_idea_helps_on_the_slice_that_needs_it(comparison: IdeaComparison, name: str, score: str) -> None:
    known = read_ideas()

    scores = comparison.run([known.ideas[name]], known, seeds=3)[name]["test"]

    without, with_it = (scores[side][score] for side in ("without", "with"))
    assert fmean(with_it) > fmean(without), scores
