"""Where the cache lies: experiments in temporary folders find the project's."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.cache_dirs import cache_folder


@pytest.mark.parametrize("place", ["standalone/tmpabc", "queue/tmpabc", "tmpabc"])
def test_an_experiment_in_a_temporary_folder_shares_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delenv("FRAMESCRIBE_CACHE", raising=False)
    workspace = tmp_path / ".dvc/tmp/exps" / place
    workspace.mkdir(parents=True)
    monkeypatch.chdir(workspace)
    assert cache_folder("features") == tmp_path / ".cache/framescribe/features"

    monkeypatch.setenv("FRAMESCRIBE_CACHE", "elsewhere")
    assert cache_folder("features") == Path("elsewhere/features")


def test_in_the_project_the_path_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAMESCRIBE_CACHE", raising=False)
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / ".dvc/tmp")

    assert cache_folder("features") == Path(".cache/framescribe/features")
