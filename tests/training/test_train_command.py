"""`framescribe train` says what the graph cannot see."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.params.train import Train
from pipeline.training.train import unseen_by_dvc


def run(**settings: str) -> Train:
    return Train.model_validate({"model": "mean_pool", "features": {"appearance": "toy"}} | settings)


@pytest.mark.parametrize("settings", [{}, {"word_vectors": "weights/words/glove.txt"}])
def test_what_the_graph_sees_needs_no_line(settings: dict[str, str]) -> None:
    assert unseen_by_dvc("toy", run(**settings)) == []


@pytest.mark.parametrize("path", ["vectors.txt", "weights/words.txt", "weights/words/../glove.txt"])
def test_word_vectors_elsewhere_are_told_where_to_go(path: str) -> None:
    (line,) = unseen_by_dvc("toy", run(word_vectors=path))

    assert path in line
    assert "put it in weights/words/" in line


def test_a_link_in_the_folder_is_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC follows it and hashes what it points at."""
    monkeypatch.chdir(tmp_path)
    Path("weights/words").mkdir(parents=True)
    Path("glove.txt").touch()
    Path("weights/words/glove.txt").symlink_to(tmp_path / "glove.txt")

    assert unseen_by_dvc("toy", run(word_vectors="weights/words/glove.txt")) == []


def test_the_run_that_it_starts_from_is_told() -> None:
    (line,) = unseen_by_dvc("fine", run(start_from="toy"))

    assert "'toy'" in line
    assert "dvc repro --force train@fine" in line
