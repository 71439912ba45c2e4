"""Families of other packages: the worked example of the docs, installed as one, runs like ours."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import extractors
from pipeline.catalogue.families import code_of, family_module, known_families
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.params.extract import Extract
from pipeline.store import open_store
from tests.clips import write_clip
from tests.store.making import extracted, index_of

PAGE = (Path(__file__).parents[2] / "docs/add-an-extractor.md").read_text()
MINIMAL = "VERSION, TAKES = 3, 'frames'\ndef build(network, **_): ...\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`site(package, family=..., code=...)` is what `pip install` would leave; all is forgotten after the test."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)

    def install(package: str, *, family: str, code: str) -> None:
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
        (folder / package / "family.py").write_text(code)
        facts = folder / f"{package}-1.2.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2.0\n")
        (facts / "entry_points.txt").write_text(f"[framescribe.extractors]\n{family} = {package}.family\n")
        importlib.invalidate_caches()

    yield install
    for name in set(sys.modules) - before:
        if name.split(".")[0] in {path.name for path in folder.iterdir()}:
            del sys.modules[name]


def test_the_worked_example_as_a_package(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    code, stub = blocks("python")
    assert 40 <= len(code.strip().splitlines()) <= 80
    site("segment_shares", family="segments", code=code)
    (tmp_path / "videos").mkdir()
    write_clip(tmp_path / "videos/clip.mp4", frames=25)
    entry = YAML(typ="safe").load(blocks("yaml")[1])["segments"]
    params = Extract.model_validate(entry | {"outputs": ["shares", "grid"], "options": {"size": 64}})

    extracted(index_of(tmp_path / "videos", tmp_path / "index"), tmp_path / "store", params=params)

    store = open_store(tmp_path / "store")
    assert store["clip"]["grid"].shape == (3, 7, 7, 21)
    np.testing.assert_allclose(store["clip"]["shares"].sum(1), 1, rtol=1e-5)
    assert store.manifest["fingerprint"]["extractor"]["code"] == "segment_shares.family 1"
    assert 'segments = "segment_shares.family"' in blocks("toml")[0]
    # the file that DVC looks at gives the same family, hence the same features
    monkeypatch.setattr(extractors, "__path__", [*extractors.__path__, str(tmp_path)])
    (tmp_path / "segments.py").write_text(stub)
    importlib.invalidate_caches()
    assert family_module("segments").__name__ == "extractors.segments"
    assert code_of("segments") == "segment_shares.family 1"
    del sys.modules["extractors.segments"]


def test_a_package_cannot_replace_a_family_of_ours(site: Any) -> None:
    site("intruder", family="frames", code=MINIMAL)

    assert family_module("frames").__name__ == "extractors.frames"
    assert code_of("frames") == family_module("frames").VERSION


def test_two_packages_with_one_name_are_an_error(site: Any) -> None:
    site("one", family="twice", code=MINIMAL)
    site("other", family="twice", code=MINIMAL)

    with pytest.raises(UsageError, match=r"several packages bring the family 'twice': one\.family, other\.family"):
        family_module("twice")


def test_a_module_that_lacks_the_contract_is_refused(site: Any) -> None:
    site("halfway", family="halfway", code="VERSION = 1\n")

    with pytest.raises(UsageError, match=r"halfway\.family is no extractor family: it lacks TAKES, build"):
        family_module("halfway")


def test_a_missing_dependency_is_named(site: Any) -> None:
    site("hungry", family="hungry", code="import nothing_of_this_name\n")

    with pytest.raises(MissingToolError, match=r"'hungry' \(hungry\.family\).*nothing_of_this_name"):
        family_module("hungry")


def test_a_missing_dependency_of_ours_is_not_called_an_unknown_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "starved.py").write_text("import nothing_of_this_name\n")
    monkeypatch.setattr(extractors, "__path__", [*extractors.__path__, str(tmp_path)])
    importlib.invalidate_caches()

    with pytest.raises(MissingToolError, match="the family 'starved' needs the package nothing_of_this_name"):
        family_module("starved")


def test_an_unknown_family_lists_ours_and_theirs(site: Any) -> None:
    site("wavelet_features", family="wavelets", code=MINIMAL)

    assert {"frames", "i3d", "i3d_flow", "flow", "wavelets"} <= set(known_families())
    with pytest.raises(UsageError, match=r"there is no extractor family 'wavlets'; known: .*wavelets"):
        family_module("wavlets")
