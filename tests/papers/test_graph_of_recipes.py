"""DVC resolves the graph of every recipe: stages of all its extractors and runs, with dependencies that exist."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.papers.applying import applied
from pipeline.papers.recipes import known_recipes, read_recipe

ROOT = Path(__file__).parents[2]


def test_stages_resolve_for_every_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dvc.repo import Repo

    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    Repo.init(no_scm=True)
    demo = Path("params.yaml").read_text()
    for name in known_recipes():
        Path("params.yaml").write_text(demo)
        Path("params.yaml").write_text(applied(name))
        recipe = read_recipe(name)

        stages = {stage.addressing: stage for stage in Repo().index.stages}

        assert {each for each in stages if "extract" in each} == {f"extract@{each}" for each in recipe.extract}
        for step in ("train", "caption", "evaluate"):
            assert {each for each in stages if each.startswith(f"{step}@")} == {f"{step}@{run}" for run in recipe.train}
        for stage in stages.values():
            for dependency in stage.deps:
                path = dependency.def_path
                assert not path.startswith(("extractors/", "models", "pipeline/")) or (ROOT / path).exists(), path
