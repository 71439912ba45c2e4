"""Whatever has a name - a family, card, captioner or search - has a test on the simulated GPU, or is excused here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from pipeline.captioner.build_model import known_models
from pipeline.catalogue.cards import read_cards
from pipeline.catalogue.families import known_families
from pipeline.params.caption import Caption
from tests.gpu import test_captioners_on_gpu, test_extractors_on_gpu, test_searches_on_gpu
from tests.gpu.test_extractors_on_gpu import FAMILIES
from tests.models.test_captioners import CASES

EXCUSED = {"detectron": "the stand-in for its package resizes with numpy, as the package does"}


def tried(test: Callable[..., None], argument: str) -> set[str]:
    """What a test is run with, its slow cases too."""
    marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
    (values,) = [mark.args[1] for mark in marks if mark.name == "parametrize" and mark.args[0] == argument]
    return {_value(each) for each in values}


def _value(each: Any) -> str:
    return str(each.values[0]) if hasattr(each, "values") else str(each)


def test_every_family() -> None:
    found = {FAMILIES[name][0] for name in tried(test_extractors_on_gpu.test_every_family, "name")}

    of_other_tests = {name for name in known_families() if name.startswith("toy")}
    assert found | set(EXCUSED) == set(known_families()) - of_other_tests
    assert not found & set(EXCUSED)


def test_every_card() -> None:
    assert tried(test_extractors_on_gpu.test_every_card, "name") == set(read_cards())


@pytest.mark.parametrize(
    "test",
    [
        test_captioners_on_gpu.test_loss_and_search,
        test_captioners_on_gpu.test_updates_of_all_weights,
        test_captioners_on_gpu.test_self_critical_step,
        test_searches_on_gpu.test_every_search,
    ],
)
def test_every_captioner(test: Callable[..., None]) -> None:
    assert {CASES[name].model for name in tried(test, "name")} == set(known_models())


def test_every_search() -> None:
    tried_searches = {name.split()[0].rstrip(",") for name in tried(test_searches_on_gpu.test_every_search, "search")}

    assert tried_searches == set(get_args(Caption.model_fields["search"].annotation))
