"""open_clip's names as timm's, against the table of open_clip itself."""

from __future__ import annotations

import pytest
import timm

from pipeline.catalogue.open_clip_names import timms_edition
from pipeline.core import UsageError

TABLE = pytest.importorskip("open_clip.pretrained", reason="open_clip is not installed")._PRETRAINED
EDITIONS = {
    f"{model}/{tag}": facts["hf_hub"].rstrip("/")
    for model, tags in TABLE.items()
    for tag, facts in tags.items()
    if facts.get("hf_hub")
}
OF_TIMM = {timm.get_pretrained_cfg(name).hf_hub_id for name in timm.list_pretrained()}
SHARED = {name: place for name, place in EDITIONS.items() if place in OF_TIMM}  # one file for both libraries


def found(name: str) -> str | None:
    try:
        return timms_edition(name)
    except UsageError:
        return None


def test_one_file_has_one_name_in_each_library() -> None:
    assert len(SHARED) > 40
    assert {name: f"timm/{found(name)}" for name in SHARED} == SHARED


def test_no_two_trainings_become_one() -> None:
    """`-quickgelu` names the same weights; nothing else may."""
    names = {name.replace("-quickgelu", "") for name in EDITIONS}
    editions = [edition for name in names if (edition := found(name))]

    assert len(editions) == len(set(editions)) > 70


@pytest.mark.parametrize("family", ["SigLIP", "SigLIP2", "PE-Core"])
def test_every_tower_of_a_family_is_known(family: str) -> None:
    towers = [name for name in EDITIONS if family in name and "nllb" not in name]

    assert towers
    assert all(found(name) for name in towers)


@pytest.mark.parametrize("name", ["ViT-B-32", "ViT-B-32/nosuch", "nosuch/openai", "ViT-g-14/laion2b_s34b_b88k", ""])
def test_what_timm_has_not_is_refused_in_words(name: str) -> None:
    with pytest.raises(UsageError, match="such as open_clip:ViT-B-32/openai"):
        timms_edition(name)
