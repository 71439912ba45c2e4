"""What a user adds to DVC is pushed, and comes to a colleague; Git ignores what lies beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project_copy import ROOT, Repository

ADDED = ("weights/mine.safetensors", "features/mine", "clips")


@pytest.fixture
def author(tmp_path: Path) -> Repository:
    author = Repository(tmp_path / "author")
    for name in ADDED:
        path = author.folder / name / "file" if not Path(name).suffix else author.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name in (".gitignore", ".dvcignore", ".dvc/config"):
        (author.folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, author.folder / name)
    author.run("git", "init", "--quiet")
    author.run("dvc", "remote", "add", "--default", "shared", str(tmp_path / "shared"))
    return author


def test_what_is_added_comes_to_a_colleague(author: Repository, tmp_path: Path) -> None:
    author.run("dvc", "add", *ADDED)
    author.commit()
    author.run("dvc", "push")
    subprocess.run(["git", "clone", "--quiet", author.folder, tmp_path / "clone"], check=True)
    colleague = Repository(tmp_path / "clone")
    assert not any((colleague.folder / name).exists() for name in ADDED)
    colleague.run("dvc", "pull")

    assert (colleague.folder / "weights/mine.safetensors").read_text() == "weights/mine.safetensors"
    assert (colleague.folder / "features/mine/file").read_text() == "features/mine"
    assert (colleague.folder / "clips/file").read_text() == "clips"
    assert colleague.run("git", "status", "--short") == ""
