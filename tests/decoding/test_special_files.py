"""Special files are refused unopened, and a strange name is only a name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pipeline.core.console import Console
from pipeline.core.errors import InputError
from pipeline.core.reasons import DecodeError
from pipeline.decoding import decode, find_videos, inspect_video, read_frames
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from tests.clips import write_clip

NAMES = [
    b"new\nline.mp4",
    b"-rf.mp4",
    b"quote'\".mp4",
    "emoji \N{CLAPPER BOARD}.mp4".encode(),
    b"not utf8 \xff\xfe.mp4",
    b"file:x.mp4",
    b"http:y.mp4",
    b"pattern %03d.mp4",
    b"pipe|concat:.mp4",
    b"space and\ttab .mp4",
    b"no suffix",
]


def special(folder: Path) -> dict[str, str]:
    """Special files by name, with the reason each must get."""
    os.mkfifo(folder / "fifo.mp4")
    (folder / "loop.mp4").symlink_to("loop.mp4")
    (folder / "dangling.mp4").symlink_to("nowhere.mp4")
    (folder / "device.mp4").symlink_to("/dev/zero")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket.mp4"))
    listener.close()
    names = {"fifo": "not-a-file", "loop": "not-a-file", "dangling": "missing", "device": "not-a-file"}
    return names | {"socket": "not-a-file"}


def test_special_files_are_refused_among_good_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    videos = tmp_path / "v"
    videos.mkdir()
    monkeypatch.chdir(videos)  # a socket's path must be short
    expected = special(Path())
    write_clip(videos / "good.mp4", frames=3)
    (videos / "folder.mp4").mkdir()
    write_clip(videos / "folder.mp4" / "inside.mp4", frames=3)
    decode.decode_videos(videos=videos, out=tmp_path / "out", params=Decode(max_failed=9), console=Console(quiet=True))
    index = read_index(tmp_path / "out")
    assert {row.id: row.reason for row in index.quarantined.values()} == expected
    assert list(index.rows) == ["good", "inside"]


def test_a_folder_is_not_a_video(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="is a folder; only regular files are read"):
        inspect_video(str(tmp_path))


def test_a_link_to_a_video_is_a_video(tmp_path: Path) -> None:
    write_clip(tmp_path / "real.mp4", frames=3)
    (tmp_path / "link.mp4").symlink_to("real.mp4")
    assert inspect_video(str(tmp_path / "link.mp4"))["frames"] == 3


def test_folders_that_link_to_each_other_are_searched_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    write_clip(tmp_path / "a" / "one.mp4", frames=3)
    assert list(find_videos(tmp_path)) == ["one"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "secret.mp4", frames=3)
    path.chmod(0)
    with pytest.raises(DecodeError, match=r"secret.mp4': Permission denied") as caught:
        inspect_video(str(path))
    assert caught.value.reason == "unreadable"


def test_strange_names_are_only_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Relative paths too, which begin with the strange part."""
    videos = tmp_path / "videos"
    videos.mkdir()
    source = write_clip(tmp_path / "source.mp4", frames=3)
    for name in NAMES:
        (videos / os.fsdecode(name)).write_bytes(source.read_bytes())
    monkeypatch.chdir(videos)
    decode.decode_videos(videos=Path(), out=tmp_path / "out", params=Decode(), console=Console())
    index = read_index(tmp_path / "out")
    assert {row.path for row in index.rows.values()} == {os.fsdecode(name) for name in NAMES}
    for row in index.rows.values():
        assert row.frames == 3
        assert len(list(read_frames(row, [0, 2]))) == 2
    capsys.readouterr().out.encode()  # what was printed is text that any terminal takes


def test_quarantined_strange_names_can_be_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / os.fsdecode(b"bad \xff\n.mp4")).write_bytes(b"")
    decode.decode_videos(videos=tmp_path, out=tmp_path / "out", params=Decode(max_failed=1), console=Console())
    printed = capsys.readouterr().out
    printed.encode()
    assert "bad \\xff\\n" in printed


def test_two_files_with_one_id_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.mp4").write_bytes(b"1")
    (tmp_path / "x.avi").write_bytes(b"2")
    with pytest.raises(InputError, match=r"x.avi' and '.*x.mp4' would both have the id 'x'"):
        find_videos(tmp_path)


def test_what_lies_beside_videos_is_passed_over(tmp_path: Path) -> None:
    for name in ("a.mp4", "a.srt", "a.json", "a.wav", ".hidden.mp4", "README.md"):
        (tmp_path / name).write_bytes(b"1")
    assert list(find_videos(tmp_path)) == ["a"]
