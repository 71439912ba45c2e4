"""Runs that look at places and at regions, from the video to the marks over the player; the networks are untrained."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline import captioning, report
from pipeline.cli import main
from pipeline.live import job_child
from tests import clips
from tests.live.serving import Served, serving
from tests.live.tabs import DONE, Tab, entered_state, give
from tests.live.trained import prepare_project

RUN = {"epochs": 2, "patience": 2, "learning_rate": 0.02, "batch_size": 4}
SMALL = {"hidden_size": 16, "word_size": 8, "attention_size": 8}
FRAMES = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": {"count": 3}}
OBJECTS = {
    "family": "yolo",
    "network": "yolov4_tiny",
    "weights": "random",
    "sampling": {"count": 3, "window": 2, "stride": 2, "tail": "pad"},
    "outputs": ["features", "boxes", "count"],
    "options": {"motion": "none", "regions": 3, "short_side": 64, "score_threshold": 0.0},
}
PARAMS: dict[str, Any] = {
    "extract": {"grid": FRAMES | {"outputs": ["grid"]}, "pool": FRAMES | {"outputs": ["pool"]}, "objects": OBJECTS},
    "train": {
        "places": RUN | {"model": "stats", "features": {"appearance": "grid"}, "options": SMALL | {"feature_size": 16}},
        "regions": RUN
        | {"model": "vatex_spatial", "features": {"appearance": "pool", "regions": "objects"}, "options": SMALL},
    },
}
RUNS = ("places", "regions")


@pytest.fixture(scope="module")
def spatial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spatial")
    prepare_project(folder, PARAMS)
    return folder


@pytest.fixture(scope="module")
def server(spatial: Path) -> Iterator[Served]:
    with serving(spatial, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache") as each:
        yield each


@pytest.mark.slow
def test_where_each_word_looked_lies_over_the_player(browser: Any, server: Served, tmp_path: Path) -> None:
    """The strongest mark of every word is the one that the line below the player names."""
    with Tab(browser, server, entered_state(browser, server)) as tab:
        for run in RUNS:
            tab.get_by_label(run).check()
        give(tab, clips.write_clip(tmp_path / "clip.mp4", frames=24))
        tab.wait_for_selector(DONE)
        lines = tab.locator("#stages li").all_text_contents()
        result = tab.evaluate(f"fetch('{tab.url}/result').then((each) => each.json())")["shown"]
        looks = {result["runs"][each["run"]]["name"]: each for each in result["videos"][0]["detail"]["looks"]}
        answers = tab.locator(".answers dd")
        places, regions = answers.nth(0).locator(".word").first, answers.nth(1).locator(".word").first

        assert [sum(f"extract {name}" in line for line in lines) for name in ("grid", "pool", "objects")] == [1, 1, 1]
        assert all(" of " in line and "rows" in line for line in lines if "extract" in line)
        places.click()
        cells = looks["places"]["cells"]["maps"][0]
        assert tab.locator(".over .cell").count() == sum(weight > 0 for row in cells for weight in row)
        assert f"of {len(cells)}, column" in tab.locator(".looking").inner_text()
        regions.click()
        boxes = max(looks["regions"]["regions"][0], key=lambda each: each["boxes"][0][4])["boxes"]
        assert tab.locator(".over .cell").count() == 0
        assert tab.locator(".over .box").count() == len(boxes)
        assert f"the strongest {round(boxes[0][4] / 10)} %" in tab.locator(".looking").inner_text()


@pytest.mark.slow
def test_the_raw_attention_is_that_of_the_command(
    spatial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bit, before the page rounds it to thousandths; each computes with a cache of its own."""
    monkeypatch.chdir(spatial)
    clip = clips.write_clip(tmp_path / "clip.mp4", frames=27)
    seen: list[captioning.Captioned] = []
    shown = report.captioned_contents
    for module in (job_child.report, __import__("pipeline.report.captioned", fromlist=["captioned"])):
        monkeypatch.setattr(module, "captioned_contents", lambda all_: seen.extend(all_) or shown(all_))
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "one"))
    job = {"folder": str(tmp_path), "video": str(clip), "runs": list(RUNS), "device": "cpu"}
    job_child.caption_clip(job, out=io.StringIO())
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "other"))
    for run in RUNS:
        written = ["--html", f"{tmp_path}/{run}.html", "--profile", "one.yaml", "--quiet"]
        assert main(["caption", str(clip), "--run", run, *written]) == 0

    assert len(seen) == 2 * len(RUNS)
    for ours, theirs in zip(seen[: len(RUNS)], seen[len(RUNS) :], strict=True):
        assert raw(ours) == raw(theirs)
        assert {"cells", "regions"} & ours.attention["clip"].keys()


def raw(captioned: captioning.Captioned) -> Mapping[str, Any]:
    """Bytes and shapes of all that was recorded, and the sentence with every bit of its probability."""
    arrays = {name: np.asarray(each) for name, each in captioned.attention["clip"].items()}
    said = captioned.captions["clip"]
    return {
        **{name: (each.dtype.str, each.shape, each.tobytes()) for name, each in arrays.items()},
        "said": (said.caption, said.log_prob.hex()),
        "recorded": {name: np.asarray(each).tobytes() for name, each in said.attention.items()},
        "facts": json.dumps(captioned.facts, sort_keys=True, default=str),
    }
