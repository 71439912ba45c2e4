"""Publishing: nothing that is not ours is replaced, and a place that cannot be written is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.atomic import fresh_folder, write_text
from pipeline.core.errors import InputError
from pipeline.store import write_store
from tests.store.making import features


def test_a_folder_of_the_same_kind_is_replaced(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with fresh_folder(tmp_path / "made", known_by="about.txt") as folder:
            write_text(folder / "about.txt", text)

    assert (tmp_path / "made" / "about.txt").read_text() == "new"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    with fresh_folder(tmp_path / "made", known_by="about.txt") as folder:
        write_text(folder / "about.txt", "new")

    assert (tmp_path / "made" / "about.txt").is_file()


@pytest.mark.parametrize("command", [["export", "store"], ["import", "source"]], ids=["export", "import"])
@pytest.mark.parametrize("place", ["thesis", "thesis/chapter.txt"])
def test_somebody_elses_files_are_never_replaced(
    command: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_store(Path("features/store"), {"a": features(0, rows=1)}, fingerprint={})
    main(["store", "export", "store", "source", "--quiet"])
    write_text(Path("thesis/chapter.txt"), "years of work")

    assert main(["store", *command, place]) == 3
    assert place in (said := capsys.readouterr().err)
    assert "next:" in said
    assert Path("thesis/chapter.txt").read_text() == "years of work"
    assert [path.name for path in Path("thesis").iterdir()] == ["chapter.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(InputError, match="folder cannot be written: Is a directory"):
        write_text(tmp_path / "folder", "text")
    with pytest.raises(InputError, match="file cannot be written"):
        write_text(tmp_path / "file" / "below", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
