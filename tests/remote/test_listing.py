"""The list of URLs that stands for a folder of videos: read strictly, and seen by the doctor."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import FramescribeError
from pipeline.decoding.video_files import find_videos
from pipeline.doctor import project
from pipeline.remote.listing import HEAD, is_listing, read_listing


def test_it_is_read_back(tmp_path: Path) -> None:
    listing = tmp_path / "demo.urls"
    listing.write_text(HEAD + "s3://b/x/one.mp4\t3\tabc\ns3://b/notes.txt\t1\t\ns3://b/.hidden.mp4\t1\t\n")

    assert is_listing(listing)
    assert find_videos(listing) == {"one": "s3://b/x/one.mp4"}
    assert project._count_videos(listing) == 3


@pytest.mark.parametrize("line", ["videos/one.mp4", "http://host/one.mp4", "s3://me:secret@b/one.mp4"])
def test_anything_else_in_it_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.urls").write_text(f"{line}\t1\t\n")

    with pytest.raises(FramescribeError) as raised:
        read_listing(tmp_path / "bad.urls")
    assert "secret" not in str(raised.value)


def test_two_objects_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "two.urls").write_text("s3://b/x/one.mp4\ns3://b/y/one.webm\n")

    with pytest.raises(FramescribeError, match="would both have the id 'one'"):
        find_videos(tmp_path / "two.urls")
