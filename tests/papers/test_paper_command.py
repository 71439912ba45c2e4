"""`framescribe paper`: it lists, shows, sets params.yaml and takes it back; it never starts anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.index.video_index import write_index
from pipeline.papers.needs import Clips, dataset_sizes, needs_of, row_count
from pipeline.papers.recipes import known_recipes, read_recipe
from pipeline.params.dataset import Dataset
from pipeline.params.extract import Sampling
from pipeline.params.file import load_params
from tests.index.test_video_index import OTHER, ROW, TIMES

ELSEWHERE = Dataset(name="demo", videos="videos", annotations="none")


def summary(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["paper", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_alone_it_lists_the_recipes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper"]) == 0

    shown = capsys.readouterr().out
    assert all(name in shown for name in known_recipes())


def test_it_sets_params_and_says_what_is_needed_before_what_to_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "params.yaml").read_text()

    assert main(["paper", "g2l-msrvtt"]) == 0

    shown = capsys.readouterr().out
    wanted = (
        "faster_rcnn_vg: missing",
        "disk: about",
        "hours, very roughly",
        "framescribe dataset use msrvtt",
        "framescribe weights fetch inception_v4",
        "dvc repro evaluate@g2l",
    )
    places = [shown.index(text) for text in wanted]
    assert places == sorted(places)
    assert next(iter(load_params().train)) == "g2l"
    assert (project / "params.before.yaml").read_text() == before
    assert sorted(path.name for path in project.iterdir()) == ["params.before.yaml", "params.yaml"]  # nothing ran


def test_undo_brings_back_every_byte(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (project / "params.yaml").read_bytes()
    assert main(["paper", "vre-msvd", "--quiet"]) == 0
    assert (project / "params.yaml").read_bytes() != before

    assert main(["paper", "--undo"]) == 0
    assert (project / "params.yaml").read_bytes() == before

    assert main(["paper", "--undo"]) == 2
    assert "no recipe was applied here" in capsys.readouterr().err


def test_undo_goes_back_through_several_recipes(project: Path) -> None:
    texts = [(project / "params.yaml").read_bytes()]
    for recipe in ("vre-msvd", "g2l-msrvtt", "vatex-vatex"):
        assert main(["paper", recipe, "--quiet"]) == 0
        texts.append((project / "params.yaml").read_bytes())

    for text in reversed(texts[:-1]):
        assert main(["paper", "--undo", "--quiet"]) == 0
        assert (project / "params.yaml").read_bytes() == text
    assert [path.name for path in project.iterdir()] == ["params.yaml"]


def test_a_second_time_changes_nothing_and_keeps_the_way_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "params.yaml").read_bytes()
    assert summary(capsys, "vatex-vatex")["written"]

    again = summary(capsys, "vatex-vatex")

    assert (again["written"], again["changed"]) == (False, [])
    assert (project / "params.before.yaml").read_bytes() == before


def test_show_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (project / "params.yaml").read_bytes()

    shown = summary(capsys, "stats-msrvtt", "--show")

    assert not shown["written"]
    assert {"extract", "train"} <= set(shown["changed"])
    assert (project / "params.yaml").read_bytes() == before
    assert shown["next"][0] == "framescribe paper stats-msrvtt"


def test_an_unknown_recipe_gets_the_list_and_the_nearest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "g2l-msrvt"]) == 2

    message = capsys.readouterr().err
    assert "there is no recipe 'g2l-msrvt'; there are: dualafr-msrvtt, dualafr-msvd" in message
    assert "next: framescribe paper g2l-msrvtt" in message


def test_an_invalid_params_yaml_is_refused_and_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (project / "params.yaml").read_text().replace("max_failed: 0", "max_faild: 0")
    (project / "params.yaml").write_text(text)

    assert main(["paper", "g2l-msvd"]) == 2
    assert "did you mean 'max_failed'?" in capsys.readouterr().err
    assert (project / "params.yaml").read_text() == text


def test_the_last_steps_of_vatex_fuse_and_score(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert summary(capsys, "vatex-vatex")["next"][-2:] == [
        "framescribe fuse vatex_temporal_rl vatex_spatial_rl",
        "framescribe evaluate vatex_temporal_rl-or-vatex_spatial_rl",
    ]


def test_rows_and_bytes_follow_from_the_sampling() -> None:
    clip = Clips(count=1, frames=370, seconds=14.8)

    assert row_count(Sampling(every=5), clip) == 74
    assert row_count(Sampling(every=15, offset=5), clip) == 25
    assert row_count(Sampling(count=20), clip) == 20
    assert row_count(Sampling(hop=0.96), clip) == 15

    recipe = read_recipe("g2l-msrvtt")
    needs = needs_of(recipe, dataset_sizes(recipe, ELSEWHERE, index=Path("none"))[0])
    sizes = {each.name: (each.rows, each.bytes) for each in needs.features}
    assert sizes["inception_v4"] == (740_000, 740_000 * 1536 * 4)
    assert sizes["faster_rcnn"] == (250_000, 250_000 * (16 * 2048 + 16 * 4 + 16 + 16 + 1) * 4)
    assert needs.disk == 2 * sum(each.bytes for each in needs.features)


@pytest.mark.parametrize("name", known_recipes())
def test_needs_of_every_recipe_can_be_told(name: str) -> None:
    recipe = read_recipe(name)

    needs = needs_of(recipe, dataset_sizes(recipe, ELSEWHERE, index=Path("none"))[0])

    assert all(each.gmac > 0 and each.bytes > 0 for each in needs.features)
    assert 0 < needs.row_gmac <= needs.all_gmac


def test_an_index_of_another_data_set_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """`dataset use` was run, `decode` was not yet: the index is still that of the demo."""
    write_index(tmp_path, [ROW, OTHER], times=TIMES)  # videos/b.mp4 and its twin
    recipe = read_recipe("g2l-msrvtt")

    def videos(**changes: str) -> int:
        dataset = Dataset(**{"name": "msrvtt", "videos": "videos", "annotations": "none"} | changes)
        return dataset_sizes(recipe, dataset, index=tmp_path)[0].videos

    assert videos() == 2
    assert videos(videos="elsewhere") == 10_000
    assert videos(name="demo") == 10_000


def test_costs_are_told_of_the_videos_at_hand_and_of_the_whole_data_set(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = YAML(typ="safe").load((project / "params.yaml").read_text())
    values["dataset"] = {"name": "msrvtt", "videos": "videos", "annotations": "none"}
    (project / "params.yaml").write_text(json.dumps(values))
    write_index(project / "data/index", [ROW, OTHER], times=TIMES)

    assert main(["paper", "vre-msrvtt", "--show"]) == 0
    shown = capsys.readouterr().out

    assert shown.index("videos: 2 (data/index)") < shown.index("videos: 10000 (published sizes")
    assert shown.count("disk: about") == shown.count("hours, very roughly") == 2
    facts = summary(capsys, "vre-msrvtt", "--show")
    assert facts["whole"]["videos"] == 10_000
    assert 0 < facts["disk"] < facts["whole"]["disk"]


def test_training_of_a_part_of_the_data_set_costs_a_part(tmp_path: Path) -> None:
    write_index(tmp_path, [ROW, OTHER], times=TIMES)
    recipe = read_recipe("g2l-msrvtt")
    dataset = Dataset(name="msrvtt", videos="videos", annotations="none")

    here, whole = (needs_of(recipe, size) for size in dataset_sizes(recipe, dataset, index=tmp_path))

    assert here.all_gmac == pytest.approx(whole.all_gmac * 2 / 10_000, rel=0.02)
