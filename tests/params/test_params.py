"""params.yaml: what is wrong is named, and so is what would be right."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.core.errors import UsageError
from pipeline.params.file import load_params, parse_params, pick

ROOT = Path(__file__).parents[2]


@pytest.fixture
def values() -> dict[str, Any]:
    return copy.deepcopy(YAML(typ="safe").load((ROOT / "params.yaml").read_text()))


def test_the_committed_file_is_valid() -> None:
    assert "soft_attention" in load_params(ROOT / "params.yaml").train


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("decode", "max_fail"), 3, "decode.max_fail: unknown key (did you mean 'max_failed'?); known keys here:"),
        (("extract", "mobilenet_v2", "sampling", "evry"), 3, "extract.mobilenet_v2.sampling.evry: unknown key"),
        (("train", "mean_pool", "lr"), 0.1, "known keys here: stage, epochs, patience, optimizer"),
        (("colour",), 1, "colour: unknown key"),
        (("caption", "beam"), 0, "caption.beam: Input should be greater than 0 (got 0)"),
        (("caption", "beam"), "five", "caption.beam: Input should be a valid integer"),
        (("dataset", "name"), "mnist", "dataset.name: Input should be 'demo', 'msrvtt'"),
        (("extract", "mobilenet_v2", "sampling"), {"every": 5, "fps": 2.0}, "give one of every, count, fps, or window"),
        (("extract", "mobilenet_v2", "sampling"), {"window": 16}, "window and stride go together"),
        (("extract", "mobilenet_v2", "sampling"), {"count": 8, "offset": 5}, "offset goes with every"),
        (("extract", "../x"), {}, "extract.../x: a name has letters, digits"),
        (("extract", "none"), {}, "features/none is a store of the graph's own"),
        (("train", "none"), {}, "runs/none stands for no run"),
        (("train", "a b"), {}, "train.a b: a name has letters, digits"),
        (("train", "mean_pool", "then"), [{"epoch": 3}], "then: epoch: unknown key (did you mean 'epochs'?)"),
        (("train", "mean_pool", "then"), [{"epochs": 0}], "then: epochs: Input should be greater than 0 (got 0)"),
    ],
)
def test_bad_values_are_named_with_what_is_allowed(
    values: dict[str, Any], path: tuple[str, ...], value: Any, message: str
) -> None:
    section = values
    for part in path[:-1]:
        section = section[part]
    section[path[-1]] = value

    with pytest.raises(UsageError) as error:
        parse_params(values, source="params.yaml")

    assert message in str(error.value)
    assert error.value.exit_code == 2


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run this from the project's root"):
        load_params(tmp_path / "params.yaml")


def test_broken_yaml_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("decode: [1, 2\n")

    with pytest.raises(UsageError, match="line 2"):
        load_params(tmp_path / "params.yaml")


def test_an_unknown_entry_lists_the_entries() -> None:
    with pytest.raises(UsageError, match=r"no run 'z' in params\.yaml; it has: a, b"):
        pick({"a": 1, "b": 2}, "z", kind="run")


def test_nothing_has_one_spelling_in_what_identifies_a_run(values: dict[str, Any]) -> None:
    """A run that says `none`, as dvc.yaml needs it, is the run of before, which said nothing."""
    said = parse_params(values, source="params.yaml").train["mean_pool"]
    for key in ("start_from", "word_vectors"):
        del values["train"]["mean_pool"][key]
    del values["train"]["mean_pool"]["features"]["label"]

    silent = parse_params(values, source="params.yaml").train["mean_pool"]

    assert said.model_dump() == silent.model_dump()
    assert (said.start_from, said.word_vectors) == ("", "")
