"""The ends of logs, bounded and of the project's own alone, and what the disks hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.browsing.disk_space import _counted, disk_use
from pipeline.browsing.log_tails import BYTES, FILES, LINES, SHOWN, list_logs, tail_of
from pipeline.core.errors import InputError


def written(root: Path, name: str, text: str = "line\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_newest_logs_come_first_and_other_files_are_none(tmp_path: Path) -> None:
    for number, name in enumerate(("run1/w-1.jsonl", "run2/w-1.jsonl", "live/x/y.log")):
        os.utime(written(tmp_path, name), (number, number))
    written(tmp_path, "commands/2026.json")
    written(tmp_path, "commands/2026.log")
    written(tmp_path, "run1/secrets.env")

    assert [file.name for file in list_logs(tmp_path)] == ["live/x/y.log", "run2/w-1.jsonl", "run1/w-1.jsonl"]
    assert list_logs(tmp_path / "none") == []


def test_a_journal_is_told_in_words(tmp_path: Path) -> None:
    lines = (
        '{"worker": "w", "time": 5.5, "event": "done", "seconds": 2}',
        '{"event": "log", "level": "ERROR", "text": "b\\u001b"}',
        '{"',
        "[1]",
    )
    written(tmp_path, "r/w.jsonl", "\n".join(lines))
    tail = tail_of("r/w.jsonl", tmp_path)

    assert [(line.time, line.level, line.text) for line in tail] == [
        (5.5, "", "done seconds 2"),
        (None, "ERROR", "b\\x1b"),
        (None, "", '{"'),
        (None, "", "[1]"),
    ]


def test_of_an_endless_log_the_end_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "r/w.log")
    with path.open("wb") as stream:
        stream.truncate(50 * 2**30)  # of holes
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + b"x" * 5000 + b"\n\xff last\n")
    tail = tail_of("r/w.log", tmp_path)

    assert tail[-1].text == "\ufffd last"
    assert len(tail[-2].text) == SHOWN
    assert sum(len(line.text) for line in tail) <= BYTES


def test_many_lines_and_files_are_bounded(tmp_path: Path) -> None:
    for number in range(FILES + 10):
        written(tmp_path, f"r/{number}.log", "a\n" * 1000)
    files = list_logs(tmp_path)

    assert len(files) == FILES
    assert len(tail_of(files[0].name, tmp_path)) == LINES


@pytest.mark.parametrize(
    "name",
    [
        "../secret.log",
        "r/../../secret.log",
        "/etc/passwd",
        "",
        "r",
        "r/link.log",
        "r/pipe.log",
        "way/secret.log",
        "r/w.log\0",
    ],
)
def test_nothing_outside_the_logs_can_be_read(tmp_path: Path, name: str) -> None:
    secret, logs = written(tmp_path, "secret.log", "secret"), tmp_path / "logs"
    written(logs, "r/w.log")
    (logs / "r/link.log").symlink_to(secret)
    (logs / "way").symlink_to(tmp_path)
    os.mkfifo(logs / "r/pipe.log")

    with pytest.raises(InputError, match="there is no log"):
        tail_of(name, logs)


def test_the_disk_and_the_folders_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    _counted.cache_clear()
    written(tmp_path, "features/a/shard", "x" * 1000)
    written(tmp_path, "cache/features/ab/one.safetensors", "x" * 10)
    written(tmp_path, "cache/decode/one.json", "x" * 7)
    (tmp_path / "features/loop").symlink_to(tmp_path)
    found = disk_use(tmp_path)
    _counted.cache_clear()

    (features,) = found.folders
    assert (features.name, features.files) == ("features", 1)
    assert features.bytes == 1000  # a link to a folder is not followed
    assert {use.name: (use.files, use.bytes > 0) for use in found.cache} == {
        "features": (1, True),
        "graphs": (0, False),
        "shards": (0, False),
        "decode": (0, True),
    }
    assert found.disks[0].total >= found.disks[0].used > 0
