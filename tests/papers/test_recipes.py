"""Every recipe: valid params, models that can be built from their features, and the papers' own sizes and schedules."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

from models.base import Captioner
from pipeline.captioner.build_model import build_captioner, inputs_of, require_stages
from pipeline.catalogue.cards import read_cards
from pipeline.datasets import LOADERS
from pipeline.extraction.sampling import every, windows
from pipeline.papers.applying import applied, changes_of
from pipeline.papers.recipes import RECIPES, Recipe, known_recipes, read_recipe
from pipeline.params.editing import edit_params
from pipeline.params.file import parse_params
from pipeline.params.train import Train
from pipeline.training.schedules import own_words_at, rate_at

ROOT = Path(__file__).parents[2]
CARDS = read_cards()
NAMES = known_recipes()
every_recipe = pytest.mark.parametrize("name", NAMES)


def test_the_recipes_are_the_papers_on_the_data_sets_that_they_report() -> None:
    assert set(NAMES) == {
        "g2l-msrvtt", "g2l-msvd", "stats-msrvtt", "stats-msvd", "vatex-vatex", "vre-msrvtt", "vre-msvd",
        "dualafr-msrvtt", "dualafr-msvd", "dualafr-mvad",
    }  # fmt: skip
    for name in NAMES:
        assert name.endswith(f"-{read_recipe(name).recipe.dataset}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@every_recipe
def test_params_yaml_becomes_the_recipe_and_keeps_everything_else(name: str, project: Path) -> None:
    before = YAML(typ="safe").load((project / "params.yaml").read_text())

    text = applied(name)

    after, recipe = YAML(typ="safe").load(text), read_recipe(name)
    params = parse_params(after, source=name)
    assert (params.extract, params.train) == (recipe.extract, recipe.train)
    assert (params.assemble, params.caption) == (recipe.assemble, recipe.caption)
    for section in ("dataset", "decode", "evaluate", "report"):
        assert after[section] == before[section]
    assert "# rewritten by `framescribe dataset use`" in text  # the user's comments
    assert text.count("# not in the paper") >= (RECIPES / f"{name}.yaml").read_text().count("train:\n")  # the recipe's


def test_a_recipe_goes_over_another_recipe_and_comes_out_the_same(project: Path) -> None:
    edit_params(changes_of("dualafr-msvd"))

    assert applied("g2l-msrvtt").splitlines()[10:] == _applied_to_the_demo("g2l-msrvtt").splitlines()[10:]


def _applied_to_the_demo(name: str) -> str:
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    return applied(name)


@every_recipe
def test_its_split_rule_exists(name: str) -> None:
    about = read_recipe(name).recipe

    assert about.split in LOADERS[about.dataset]


def test_the_split_rule_is_set_where_the_data_set_is_the_papers(project: Path) -> None:
    edit_params(lambda document: document["dataset"].update({"name": "msrvtt", "videos": "v", "annotations": "a"}))

    dataset = YAML(typ="safe").load(applied("dualafr-msrvtt"))["dataset"]

    assert dataset == {"name": "msrvtt", "videos": "v", "annotations": "a", "split": "dualafr"}


@every_recipe
def test_extractors_are_cards_of_the_catalogue(name: str) -> None:
    families = {(card.params.family, card.params.network): card for card in CARDS.values()}

    for entry in read_recipe(name).extract.values():
        card = families[entry.family, entry.network]
        assert entry.weights == card.params.weights
        assert set(entry.outputs) <= set(card.taps)


def sizes_of(recipe: Recipe, run: Train) -> dict[str, int]:
    """Channels of each input, as the cards declare them; whatever the model reads, its store must have."""
    sizes = {}
    for name, wanted in inputs_of(run.model, run.tensors).items():
        store = getattr(run.features, wanted.slot)
        if store == "category":
            sizes[name] = 20
        elif store != "none":
            entry = recipe.extract[store]
            assert wanted.tensor in entry.outputs, f"{name} reads {wanted.tensor} of {store}"
            sizes[name] = _taps(entry.family, entry.network, entry.options.get("regions"))[wanted.tensor][-1]
    return sizes


def _taps(family: str, network: str, regions: Any) -> dict[str, list[int]]:
    key = (family, network, regions)
    return next(
        card.taps
        for card in CARDS.values()
        if (card.params.family, card.params.network, card.params.options.get("regions")) == key
    )


def build(recipe_name: str, run: str) -> Any:
    recipe = read_recipe(recipe_name)
    entry = recipe.train[run]
    return _built(entry.model, tuple(sorted(sizes_of(recipe, entry).items())), tuple(sorted(entry.options.items())))


@cache
def _built(model: str, sizes: tuple[tuple[str, int], ...], options: tuple[tuple[str, Any], ...]) -> Captioner:
    with torch.device("meta"):  # shapes without numbers
        return build_captioner(model, vocabulary=100, sizes=dict(sizes), options=dict(options))


@every_recipe
def test_every_run_can_be_built_and_knows_its_stages(name: str) -> None:
    for run, entry in read_recipe(name).train.items():
        require_stages(build(name, run), [stage.stage for stage in entry.stages])


@every_recipe
def test_every_row_is_a_run_or_says_what_makes_it(name: str) -> None:
    recipe = read_recipe(name)
    named = {row.run for table in recipe.tables for row in table.rows}

    assert len({tuple(table.metrics) for table in recipe.tables}) == 1
    for table in recipe.tables:
        for row in table.rows:
            assert len(row.scores) == len(table.metrics)
            assert (row.run in recipe.train) != bool(row.commands)
    together = " ".join(line for table in recipe.tables for row in table.rows for line in row.commands)
    assert {run for run in recipe.train if run not in together} <= named  # no run without a row
    assert recipe.recipe.main in recipe.train


def test_no_two_recipes_make_a_row_of_the_same_name() -> None:
    """The run of one data set would replace that of another: its weights, captions and scores lie under this name."""
    makers: dict[str, set[str]] = {}
    for name in NAMES:
        recipe = read_recipe(name)
        for made in {*recipe.train, *(row.run for table in recipe.tables for row in table.rows)}:
            makers.setdefault(made, set()).add(name)

    assert {made: by for made, by in makers.items() if len(by) > 1} == {}


@every_recipe
def test_every_run_says_which_row_it_is(name: str) -> None:
    text = (RECIPES / f"{name}.yaml").read_text()
    entries = re.split(r"^  (?=\w+:)", text[text.index("\ntrain:\n") : text.index("\ncaption:\n")], flags=re.M)[1:]

    assert len(entries) == len(read_recipe(name).train)
    for entry in entries:
        if not re.search(r"_(soft|hard)_\d:", entry):  # one comment speaks of the nine
            assert re.search(r"# Table \d (row \d|last row)", entry), entry


# --- the papers' own numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g2l-msrvtt", "g2l-msvd"])
def test_g2l_sizes_and_schedule(name: str) -> None:
    main = read_recipe(name).recipe.main
    model = build(name, main)
    assert (model.lower.input_size, model.lower.hidden_size, model.upper.hidden_size) == (3884, 768, 768)
    assert model.project["appearance"][0].weight.shape == (1024, 1536)
    assert {part.score.in_features for part in model.attend.values()} == {384}

    run = read_recipe(name).train[main]
    rates = [rate_at(run, epoch) for epoch in range(run.epochs)]
    assert run.then == []  # the rate falls, and the optimiser and the model go on as they are
    assert len(rates) == 30
    assert rates[0] == 1e-7
    assert set(rates[3:23]) == {1e-4}
    assert set(rates[23:]) == {1e-6}
    assert run.weight_decay == 2e-5
    assert read_recipe(name).assemble.min_count == 2


def test_g2l_rows_differ_only_in_what_the_table_names() -> None:
    runs = read_recipe("g2l-msrvtt").train
    options = {name: run.options for name, run in runs.items()}

    assert {name: each["key_frames"] for name, each in options.items()} == {
        "g2l": 2, "g2l_base": 0, "g2l_align": 0, "g2l_local1": 1, "g2l_local3": 3, "g2l_argmax": 2,
    }  # fmt: skip
    assert options["g2l_base"]["align"] is False
    assert options["g2l_argmax"]["sampler"] == "argmax"
    assert len({(run.epochs, run.batch_size, run.learning_rate) for run in runs.values()}) == 1


def test_stats_sizes_and_schedule() -> None:
    two, one = build("stats-msvd", "stats_msvd_i3d_flow"), build("stats-msrvtt", "stats_i3d")
    assert two.cell.input_size == 256 + 2 * 512
    assert one.cell.input_size == 256 + 512
    assert build("stats-msrvtt", "stats_i3d_flow_class").cell.input_size == 256 + 2 * 512 + 256
    assert one.blocks["appearance"].project[0].weight.shape == (512, 2048)
    assert one.blocks["appearance"].views["st"].place.score.in_features == 128

    run = read_recipe("stats-msvd").train["stats_msvd_i3d_flow"]
    assert (run.optimizer, run.learning_rate, run.batch_size) == ("rmsprop", 1e-4, 32)
    assert round(1 - own_words_at(run.stages[0], 0), 4) == 0.96
    assert [stage.epochs for stage in run.stages] == [10, 10]
    assert [set(stage.rewards) for stage in run.stages] == [set(), {"meteor", "bleu4"}]


def test_vatex_sizes() -> None:
    temporal, spatial = build("vatex-vatex", "vatex_temporal_rl"), build("vatex-vatex", "vatex_spatial_rl")

    assert temporal.summary[0].weight.shape == (512, 4224)
    assert temporal.lower.input_size == 1536
    assert (temporal.fuse[0].in_features, spatial.fuse[0].in_features) == (4096, 4096)
    assert build("vatex-vatex", "vatex_vanilla").attention is None


@pytest.mark.parametrize("frames", [1, 16, 31, 32, 33, 48, 49, 300])
def test_vatex_has_a_picture_in_every_segment_of_motion(frames: int) -> None:
    """The model joins them row by row, and drops what one of the two lacks."""
    extract = read_recipe("vatex-vatex").extract
    picture, motion = extract["resnext101"].sampling, extract["ir_csn152"].sampling
    shown = every(frames, step=picture.every or 0, offset=picture.offset or 0)
    seen, _ = windows(frames, window=motion.window or 0, stride=motion.stride or 0, tail=motion.tail or "")

    assert shown.tolist() == seen[:, 0].tolist()


def test_the_card_says_which_frame_its_sampling_takes() -> None:
    card = read_cards()["resnext101"]

    assert card.params.sampling.offset is None
    assert "the first frame of every 32" in card.paper
    assert not any("takes the centre frame" in note for note in card.notes)


def test_the_row_soft_att_is_the_model_of_its_own_paper() -> None:
    """Yao et al. look at frames as a set; the GRU that our default reads them with would make it another row."""
    assert build("vre-msrvtt", "vre_soft_attention").reader is None


def test_vre_sizes_and_stages() -> None:
    def read_by_the_decoder(model: Any) -> int:  # frames, places, and the rest: sound and word
        return model.see.in_features + model.see_places.in_features + model.cell.input_size

    assert read_by_the_decoder(build("vre-msrvtt", "vre")) == 4736
    assert read_by_the_decoder(build("vre-msvd", "vre_msvd")) == 4608

    recipe = read_recipe("vre-msrvtt")
    run = recipe.train["vre"]
    assert [stage.stage for stage in run.stages] == ["first", "joint", "constant", ""]
    assert run.stages[0].epochs == 5
    assert (run.learning_rate, run.own_words, run.options["refocus_weight"]) == (3e-4, 0.25, 0.03)
    assert set(run.stages[3].rewards) == {"cider", "rouge"}
    assert (recipe.assemble.min_count, recipe.assemble.max_words) == (3, 15)
    assert recipe.extract["resnet152"].sampling.count == 20


@pytest.mark.parametrize("name", ["dualafr-msrvtt", "dualafr-msvd", "dualafr-mvad"])
def test_dualafr_sizes_and_schedule(name: str) -> None:
    dualafr = read_recipe(name).recipe.main.removesuffix("_soft")
    model = build(name, f"{dualafr}_soft")
    millions = {
        level: round(sum(parameter.numel() for parameter in part.parameters()) / 1e6, 1)
        for level, part in model.align.items()
    }
    assert millions == {"pool2": 22.5, "pool3": 16.4, "pool4": 7.1, "pool5": 0.0}
    assert model.start.weight.shape == (512, 4096)
    assert model.embed.embedding_dim == 300
    assert build(name, f"{dualafr}_resnet").reader.weight_ih_l0.shape == (4 * 512, 2048)

    run = read_recipe(name).train[f"{dualafr}_hard"]
    assert (run.optimizer, run.learning_rate, run.batch_size, run.clip) == ("adam", 2e-4, 32, 5.0)
    assert (run.initial, run.options["samples"]) == ("uniform", 10)
    for kind in ("soft", "hard"):
        members = [each for run, each in read_recipe(name).train.items() if run.startswith(f"{dualafr}_{kind}")]
        assert sorted(each.seed for each in members) == list(range(10))


def test_published_numbers_that_reference_tables_repeat() -> None:
    """A row that two tables of a paper print must be the same in both."""
    for name in NAMES:
        seen: dict[tuple[str, str], list[float | None]] = {}
        for table in read_recipe(name).tables:
            for row in table.rows:
                assert seen.setdefault((row.run or row.row, table.split), row.scores) == row.scores
