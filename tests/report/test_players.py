"""The address of a video, as a page beside it names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from pipeline.index.video_index import VideoIndex, VideoRow
from pipeline.report.players import player_address

ROW = VideoRow("v", "", "0" * 64, 1, 4, 3, 1.0, 1.0, "absent", "pyav", ())


def address(path: Path | str, beside: Path) -> str:
    return player_address("v", index=index_of(replace(ROW, path=str(path))), beside=beside)


def index_of(*rows: VideoRow) -> VideoIndex:
    return VideoIndex(Path(), {row.id: row for row in rows}, {}, lambda _: np.zeros(0))


@pytest.mark.parametrize("name", ["a.mp4", "B.WEBM", "100 % #1?.m4v", 'ü&"<.mp4', "javascript:x.mp4"])
def test_it_leads_to_the_file_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / name).touch()
    found = address(tmp_path / "videos" / name, tmp_path / "report")

    assert unquote(found) == f"../videos/{name}"
    assert not set(found) & set('#?<">& ')


@pytest.mark.parametrize("name", ["a.avi", "gone.mp4", "s3://bucket/clip.mp4"])
def test_what_no_browser_could_play_has_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.avi").touch()

    assert address(name if ":" in name else tmp_path / name, tmp_path) == ""
    assert player_address("unknown", index=index_of(), beside=tmp_path) == ""
