"""The papers' tables: published rows beside the runs that exist, every difference, and what makes the rest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extractors.parts.engine_names import PACKAGES
from pipeline.cli import main
from pipeline.core.sealed_file import write_sealed_json
from pipeline.corpus.vocabulary import SPECIALS
from pipeline.extraction.fingerprint import fingerprint
from pipeline.papers.agreement import UNKNOWN, found_min_count, found_store, store_settings
from pipeline.papers.differing import Here, Made
from pipeline.papers.recipes import Recipe, read_recipe
from pipeline.papers.tables import AS_PUBLISHED, Line, paper_tables
from pipeline.params.caption import Caption
from pipeline.params.dataset import Dataset
from pipeline.params.evaluate import Evaluate
from pipeline.params.file import load_params
from pipeline.params.train import Train

ROOT = Path(__file__).parents[2]
G2L, DUALAFR, VATEX = read_recipe("g2l-msrvtt"), read_recipe("dualafr-msvd"), read_recipe("vatex-vatex")
SCORES = {"BLEU-4": 0.4, "METEOR": 0.25, "ROUGE-L": 0.6, "CIDEr-D": 0.48}
WORDS = {"a": 9, "man": 5, "sings": 2, "once": 1}
ENSEMBLE = ["dualafr_msvd_soft", *(f"dualafr_msvd_soft_{seed}" for seed in range(1, 10))]
FUSED = ["vatex_temporal_rl", "vatex_spatial_rl"]
Facts = dict[str, Any]


def here_of(recipe: Recipe) -> Here:
    about = recipe.recipe
    dataset = Dataset.model_validate({"name": about.dataset, "videos": "v", "annotations": "a", "split": about.split})
    return Here(
        dataset=dataset,
        videos=dict(about.videos),
        references={split: f"sha of {split}" for split in about.videos},
        words=WORDS,
        weights={entry.weights: f"sha of {entry.weights}" for entry in recipe.extract.values()},
    )


def record_of(recipe: Recipe, run: str) -> Facts:
    """run.json as training the recipe's entry writes it, as far as it is compared."""
    params = recipe.train[run]
    words = [word for word, count in WORDS.items() if count >= recipe.assemble.min_count]
    return {
        "params": params.model_dump(),
        "max_words": recipe.assemble.max_words,
        "vocabulary": [*SPECIALS, *words],
        "features": {
            f"input {slot}": {"slot": slot, "store": store, "fingerprint": fingerprint_of(recipe, store)}
            for slot, store in params.features.model_dump().items()
            if store in recipe.extract
        },
    }


def fingerprint_of(recipe: Recipe, store: str) -> Facts:
    entry = recipe.extract[store]
    known = entry.model_copy(update={"network": "here"})  # timm need not be installed to know its version
    record = fingerprint(known, weights=f"sha of {entry.weights}", preprocessing={}, code=1, device="cpu")
    record["extractor"]["network"] = entry.network
    return deepcopy(record)


def caption_origin(recipe: Recipe, members: list[str], split: str) -> Facts:
    settings = recipe.caption.deciding | {"split": split}
    return {"made_by": "caption", "settings": settings, "members": dict.fromkeys(members, "sha")}


def made(recipe: Recipe, run: str, members: list[str] | None = None, *, split: str = "test") -> Made:
    """A run of the recipe itself."""
    names = members or [run]
    origin = caption_origin(recipe, names, split)
    if "-or-" in run:
        candidates = {name: caption_origin(recipe, [name], split) for name in names}
        origin = {"made_by": "fuse", "settings": {"epochs": 30, "seed": 0}, "candidates": candidates}
    evaluation = {
        "split": split,
        "videos": recipe.recipe.videos[split],  # type: ignore[index]
        "references_sha256": f"sha of {split}",
        "settings": Evaluate().model_dump(),
    }
    records = {name: record_of(recipe, name) for name in names}
    return Made(name=run, scores=SCORES, evaluation=evaluation, origin=origin, records=records)


def lines(
    recipe: Recipe, runs: list[Made], *, here: Here | None = None, planned: dict[str, Train] | None = None
) -> dict[str, Line]:
    table = paper_tables([recipe], runs, here=here or here_of(recipe), planned=planned or {})[0]
    return {line.row: line for line in table.lines}


G2L_ROW, ENSEMBLE_ROW, FUSED_ROW = "+ Local 2f", "Soft Attention (Ensemble of 10)", "temporal + spatial"


def test_a_run_of_the_recipe_itself_stands_beside_its_row() -> None:
    line = lines(G2L, [made(G2L, "g2l")])[G2L_ROW]

    assert line.published == ["42.2", "28.6", "61.1", "50.3"]
    assert line.ours == ["40.0", "25.0", "60.0", "48.0"]
    assert line.remarks == [AS_PUBLISHED]


@pytest.mark.parametrize(
    "name", ["g2l-msvd", "stats-msrvtt", "stats-msvd", "vre-msrvtt", "dualafr-mvad", "vatex-vatex"]
)
def test_every_run_of_a_recipe_is_as_the_recipe_says(name: str) -> None:
    recipe = read_recipe(name)
    split = recipe.tables[0].split
    runs = [made(recipe, run, split=split) for run in recipe.train]

    found = lines(recipe, runs)

    assert {line.remarks[0] for line in found.values() if line.run} == {AS_PUBLISHED}


def test_ensembles_and_fusions_of_the_right_runs_are_as_the_recipe_says() -> None:
    ensemble = made(DUALAFR, "dualafr_msvd_soft_ensemble", ENSEMBLE)
    fusion = made(VATEX, "vatex_temporal_rl-or-vatex_spatial_rl", FUSED, split="val")

    assert lines(DUALAFR, [ensemble])[ENSEMBLE_ROW].remarks == [AS_PUBLISHED]
    assert lines(VATEX, [fusion])[FUSED_ROW].remarks == [AS_PUBLISHED]


def setting(*path: str, to: Any) -> Callable[[Facts], None]:
    """A change of one value in the facts of a run: evaluation, origin, record."""

    def change(facts: Facts) -> None:
        for part in path[:-1]:
            facts = facts[part]
        facts[path[-1]] = to

    return change


def told_after(change: Callable[[Facts], None]) -> list[str]:
    run = made(G2L, "g2l")
    facts = {"evaluation": dict(run.evaluation), "origin": dict(run.origin), "record": dict(run.records["g2l"])}
    change(facts)
    changed = replace(run, evaluation=facts["evaluation"], origin=facts["origin"], records={"g2l": facts["record"]})
    return lines(G2L, [changed])[G2L_ROW].remarks


def print_of(slot: str, *path: str) -> tuple[str, ...]:
    return ("record", "features", f"input {slot}", "fingerprint", *path)


def by_consensus(facts: Facts) -> None:
    beams = facts["origin"]["settings"]
    facts["origin"]["settings"] = Caption(
        search="consensus", max_words=beams["max_words"], split=beams["split"]
    ).deciding


DIFFERENCES: dict[str, tuple[Callable[[Facts], None], str]] = {
    "sampling": (setting(*print_of("appearance", "sampling", "every"), to=9), "appearance: sampling.every 9, not 5"),
    "sampling rule": (
        setting(*print_of("appearance", "sampling", "tail"), to="pad"),
        "appearance: sampling.tail pad, not drop",
    ),
    "option": (setting(*print_of("regions", "extractor", "options", "x"), to=4), "regions: options.x 4, not none"),
    "family": (setting(*print_of("motion", "extractor", "family"), to="clips"), "motion: family clips, not resnext3d"),
    "network": (
        setting(*print_of("appearance", "extractor", "network"), to="b0"),
        "appearance: network b0, not timm:inception_v4",
    ),
    "weights": (
        setting(*print_of("appearance", "weights"), to="0123456789abcdef"),
        "appearance: weights of sha256 0123456789ab, not inception_v4",
    ),
    "untrained": (
        setting(*print_of("appearance", "weights"), to="random"),
        "appearance: weights random, not inception_v4",
    ),
    "engine": (
        setting(*print_of("motion", "extractor", "engine"), to="openvino"),
        "motion: engine openvino, not eager",
    ),
    "precision": (
        setting(*print_of("motion", "extractor", "precision"), to="bfloat16"),
        "motion: precision bfloat16, not float32",
    ),
    "resize": (setting(*print_of("motion", "extractor", "resize"), to="pil"), "motion: resize pil, not published"),
    "outputs": (
        setting(*print_of("appearance", "layers"), to=["logits"]),
        "appearance: outputs ['logits'], not ['pool']",
    ),
    "dtype": (setting(*print_of("appearance", "dtype"), to="float64"), "appearance: dtype float64, not float32"),
    "no fingerprint": (setting(*print_of("appearance"), to={}), f"appearance: dtype {UNKNOWN}"),
    "min_count": (setting("record", "vocabulary", to=[*SPECIALS, *WORDS]), "assemble.min_count 1, not 2"),
    "other captions": (
        setting("record", "vocabulary", to=[*SPECIALS, "dog"]),
        "assemble.min_count of other captions, not 2",
    ),
    "assemble.max_words": (setting("record", "max_words", to=9), "assemble.max_words 9, not 30"),
    "beam": (setting("origin", "settings", "beam", to=1), "caption.beam 1, not 5"),
    "caption.max_words": (setting("origin", "settings", "max_words", to=7), "caption.max_words 7, not 30"),
    "length_power": (setting("origin", "settings", "length_power", to=0.7), "caption.length_power 0.7, not 0.0"),
    "caption.split": (setting("origin", "settings", "split", to="val"), "caption.split val, not test"),
    "search": (by_consensus, "caption.search consensus, not beam"),
    "members": (setting("origin", "members", to={"g2l": "", "other": ""}), "captioned by g2l + other, not g2l"),
    "tokenizer": (setting("evaluation", "settings", "tokenizer", to="python"), "evaluate.tokenizer python, not ptb"),
    "meteor": (setting("evaluation", "settings", "meteor", to=False), "evaluate.meteor False, not True"),
    "videos": (setting("evaluation", "videos", to=2), "test videos 2, not 2990"),
    "model": (setting("record", "params", "model", to="mean_pool"), "model mean_pool, not g2l"),
    "features": (setting("record", "params", "features", "sound", to="vggish"), "features.sound vggish, not none"),
    "model option": (setting("record", "params", "options", "dropout", to=0.1), "options.dropout 0.1, not 0.5"),
    "tensors": (setting("record", "params", "tensors", to={"frames": "map"}), "tensors.frames map, not none"),
    "no stages": (setting("record", "params", "then", to=[{"epochs": 3}]), "stages 2, not 1"),
}
VALUES = {  # every other key of an entry of train, each with another value than the recipe's
    "stage": "first", "epochs": 2, "patience": 77, "optimizer": "sgd", "learning_rate": 0.5, "warmup": 1,
    "warmup_from": 0.25, "drop_after": 2, "drop_to": 0.125, "weight_decay": 0.75, "clip": 9.0, "label_smoothing": 0.3,
    "own_words": 0.2, "own_words_after": 0.4, "rewards": {"cider": 1.0}, "samples": 6, "end_word": True,
    "cross_entropy": 0.6, "batch_size": 8, "captions_per_video": 2, "seed": 5, "initial": "uniform",
    "start_from": "other", "word_vectors": "w.txt", "parts": 4, "feature_dropout": 0.1, "slot_dropout": 0.2,
    "frame_dropout": 0.3, "word_dropout": 0.15, "weight_average": 0.99,
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_a_difference_is_told_by_its_name(kind: str) -> None:
    change, told = DIFFERENCES[kind]

    found = told_after(change)

    assert told in found
    if kind not in ("no fingerprint", "no stages"):  # these take more than one value with them
        assert found == [told]


@pytest.mark.parametrize("key", VALUES)
def test_a_key_of_training_is_told_by_its_name(key: str) -> None:
    (found,) = told_after(setting("record", "params", key, to=VALUES[key]))

    assert found.startswith("rewards.cider 1.0, not none" if key == "rewards" else f"{key} {VALUES[key]}, not ")


def test_all_keys_of_the_sections_are_tried_above() -> None:
    tried = {*VALUES, *DIFFERENCES, "options", "then"}

    assert set(Train.model_fields) - tried == {"baseline"}  # alone it is no valid schedule
    assert {"beam", "length_power", "caption.max_words", "caption.split"} <= tried
    by_beams = {"beam", "length_power", "max_words", "split"}
    others = {"temperature", "seed", "consensus_of", "samples", "utility"}
    others |= {"neighbours", "neighbours_by", "neighbours_in", "neighbours_weight", "neighbours_lend"}
    assert set(Caption().deciding) == by_beams
    assert set(Caption.model_fields) == {"search", *by_beams, *others, "no_repeat", "first_reading"}
    assert set(Evaluate.model_fields) == {"tokenizer", "meteor", "spice", "resamples"}  # the last two move no number


def test_the_settings_of_a_store_are_those_of_the_true_fingerprint() -> None:
    entry = G2L.extract["faster_rcnn"]
    record = fingerprint_of(G2L, "faster_rcnn")

    assert found_store(record) == store_settings(entry) | {"weights": record["weights"]}
    compared = {"extractor", "weights", "sampling", "layers", "dtype"}
    assert record.keys() - compared == {"preprocessing", "device", "libraries", "decoders"}
    assert record["extractor"].keys() - entry.model_dump().keys() == {"code", "pipeline_code", "batch"}
    assert entry.engine in PACKAGES


def test_weights_that_are_not_here_are_not_known() -> None:
    here = replace(here_of(G2L), weights={})

    remarks = lines(G2L, [made(G2L, "g2l")], here=here)[G2L_ROW].remarks

    assert remarks == [f"{slot}: weights {UNKNOWN}" for slot in ("appearance", "motion", "regions")]


def test_fewer_videos_in_training_are_told() -> None:
    here = replace(here_of(G2L), videos={"train": 4, "val": 497, "test": 2990})

    assert lines(G2L, [made(G2L, "g2l")], here=here)[G2L_ROW].remarks == ["train videos 4, not 6513"]


def test_captions_of_an_unknown_origin_are_never_the_same() -> None:
    run = replace(made(G2L, "g2l"), origin={})

    remarks = lines(G2L, [run])[G2L_ROW].remarks

    assert remarks[0] == f"captioned by {UNKNOWN}"
    assert f"caption.beam {UNKNOWN}" in remarks


def test_a_run_without_a_record_is_never_the_same() -> None:
    old = {"g2l": {"params": {"model": "g2l", "colour": "red"}}}

    gone, other = (replace(made(G2L, "g2l"), records=records) for records in ({}, old))

    assert lines(G2L, [gone])[G2L_ROW].remarks == [f"how it was trained {UNKNOWN}"]
    assert lines(G2L, [other])[G2L_ROW].remarks == [f"made by another version: settings {UNKNOWN}"]


def test_scores_of_an_older_version_are_not_known() -> None:
    run = made(G2L, "g2l")
    older = {key: value for key, value in run.evaluation.items() if key != "settings"}

    remarks = lines(G2L, [replace(run, evaluation=older)])[G2L_ROW].remarks

    assert remarks == [f"evaluate.tokenizer {UNKNOWN}", f"evaluate.meteor {UNKNOWN}"]


def test_an_ensemble_of_other_runs_is_told() -> None:
    two = made(DUALAFR, "dualafr_msvd_soft_ensemble", ["dualafr_msvd_fc7", "dualafr_msvd_mlp"])

    remarks = lines(DUALAFR, [two])[ENSEMBLE_ROW].remarks

    assert remarks[0] == f"captioned by dualafr_msvd_fc7 + dualafr_msvd_mlp, not {' + '.join(ENSEMBLE)}"
    assert remarks[1] == f"every member: how it was trained {UNKNOWN}"


def test_members_of_an_ensemble_are_compared_each() -> None:
    run = made(DUALAFR, "dualafr_msvd_soft_ensemble", ENSEMBLE)
    for record in run.records.values():
        record["params"]["batch_size"] = 4
    run.records["dualafr_msvd_soft_3"]["params"]["seed"] = 99

    remarks = lines(DUALAFR, [run])[ENSEMBLE_ROW].remarks

    assert remarks == ["every member: batch_size 4, not 32", "dualafr_msvd_soft_3: seed 99, not 3"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (setting("settings", "epochs", to=1), ["fuse.epochs 1, not 30"]),
        (setting("settings", "seed", to=3), ["fuse.seed 3, not 0"]),
        (
            setting("candidates", "vatex_temporal_rl", "settings", "beam", to=1),
            ["vatex_temporal_rl: caption.beam 1, not 5"],
        ),
        (
            setting("candidates", "vatex_temporal_rl", "members", to={"untrained": ""}),
            ["vatex_temporal_rl: captioned by untrained, not vatex_temporal_rl"],
        ),
    ],
)
def test_a_fusion_is_told_by_what_differs(change: Callable[[Facts], None], told: list[str]) -> None:
    run = made(VATEX, "vatex_temporal_rl-or-vatex_spatial_rl", FUSED, split="val")
    origin = deepcopy(dict(run.origin))
    change(origin)

    assert lines(VATEX, [replace(run, origin=origin)])[FUSED_ROW].remarks == told


def test_a_fusion_of_other_runs_or_of_unknown_origin_is_told() -> None:
    run = made(VATEX, "vatex_temporal_rl-or-vatex_spatial_rl", FUSED, split="val")
    others = dict(run.origin) | {"candidates": {"a": {}, "b": {}}}

    remarks = lines(VATEX, [replace(run, origin=others)])[FUSED_ROW].remarks
    assert remarks[0] == "fusion of a, b, not vatex_spatial_rl, vatex_temporal_rl"
    assert lines(VATEX, [replace(run, origin={})])[FUSED_ROW].remarks[0] == f"fusion of {UNKNOWN}"


def test_the_rarest_word_tells_min_count() -> None:
    counts = {"a": 9, "man": 5, "sings": 2, "once": 1}

    assert found_min_count([*SPECIALS, "a", "man"], counts, wanted=4) == 4  # 3, 4 and 5 give the same words
    assert found_min_count([*SPECIALS, "a", "man"], counts, wanted=2) == 3
    assert found_min_count([*SPECIALS, "man", "a"], counts, wanted=4) == "of other captions"
    assert found_min_count([], counts, wanted=4) == "of other captions"


def test_tables_of_another_data_set_or_split_rule_are_not_shown() -> None:
    recipe = read_recipe("dualafr-msrvtt")
    run = made(recipe, "dualafr_soft")
    here = here_of(recipe)
    demo = replace(here, dataset=here.dataset.model_copy(update={"name": "demo"}))
    standard = replace(here, dataset=here.dataset.model_copy(update={"split": "standard"}))

    assert paper_tables([recipe], [run], here=here, planned={})
    assert paper_tables([recipe], [run], here=demo, planned={}) == []
    assert paper_tables([recipe], [run], here=standard, planned={}) == []


def test_scores_of_another_split_or_other_captions_do_not_stand_beside_a_row() -> None:
    validated, elsewhere = made(G2L, "g2l", split="val"), made(G2L, "g2l")
    elsewhere = replace(elsewhere, evaluation=dict(elsewhere.evaluation) | {"references_sha256": "of msvd"})

    first, second = (lines(G2L, [run])[G2L_ROW] for run in (validated, elsewhere))

    assert first.ours == second.ours == []
    assert first.remarks[0].startswith("g2l was scored on val, not test")
    assert second.remarks[0].startswith("g2l was scored against other captions than data/captions")


def test_a_run_of_another_name_is_known_by_what_makes_the_row() -> None:
    run = made(G2L, "g2l_local3")
    run.records["g2l_local3"]["params"]["batch_size"] = 8
    mine = replace(
        run,
        name="mine",
        origin=dict(run.origin) | {"members": {"mine": "sha"}},
        records={"mine": run.records["g2l_local3"]},
    )

    found = lines(G2L, [mine])

    assert {row for row, line in found.items() if line.ours} == {"+ Local 3f"}
    assert found["+ Local 3f"].run == "mine"
    assert found["+ Local 3f"].remarks == ["batch_size 8, not 64"]


def test_rows_that_differ_by_features_alone_are_known_by_name_only() -> None:
    recipe = read_recipe("stats-msrvtt")
    run = replace(made(recipe, "stats_i3d"), name="mine")
    table = paper_tables([recipe], [run], here=here_of(recipe), planned={})[2]

    assert not table.has_runs


def test_missing_rows_name_the_command() -> None:
    before, after = lines(VATEX, []), lines(VATEX, [], planned=dict(VATEX.train))

    assert {line.remarks[0] for line in before.values()} == {"framescribe paper vatex-vatex"}
    assert after["vanilla"].remarks == ["dvc repro evaluate@vatex_vanilla"]
    assert after[FUSED_ROW].remarks[0].startswith("framescribe fuse vatex_temporal_rl vatex_spatial_rl && ")


def test_fractions_are_shown_in_percent() -> None:
    assert lines(read_recipe("stats-msvd"), [])["STaTS, I3D"].published == ["80.2", "52.6", "69.5", "33.5"]


def test_the_terminal_shows_no_published_number_beside_drawn_clips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    name, run = next((name, run) for name, run in load_params().train.items() if run.model == "mean_pool")
    for path, value in {
        f"metrics/{name}/scores.json": {"scores": SCORES},
        f"evaluation/{name}.json": {"provenance": {"split": "test"}},
        f"runs/{name}/run.json": {"params": run.model_dump()},
        f"predictions/{name}.json": {"predictions": {}},
    }.items():
        write_sealed_json(Path(path), value)
    Path("report").mkdir()
    Path("report/index.html").touch()

    assert main(["report", "--show"]) == 0

    shown = capsys.readouterr().out
    assert "VRE" not in shown
    assert "msrvtt" not in shown
    assert "next: framescribe paper, then framescribe paper NAME" in shown
