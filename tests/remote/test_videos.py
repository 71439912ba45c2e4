"""Videos at URLs give the same index and the same store as files, and are fetched no more often than needed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core import atomic
from pipeline.core.errors import TooManyFailedError
from pipeline.core.executors import InProcess
from pipeline.core.reasons import DecodeError
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from pipeline.remote import spool, transfer
from tests.clips import write_clip
from tests.remote.conftest import upload
from tests.store.making import QUIET, content, toy


def index_of(videos: Path | str, out: Path) -> Path:
    decode.decode_videos(videos=videos, out=out, params=Decode(), console=QUIET)
    return out


def store_of(index: Path, out: Path) -> dict[str, str]:
    extract.extract_features(
        {"toy": toy()}, index=index, outs={"toy": out}, executor=InProcess(), device="cpu", console=QUIET
    )
    return content(out)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The URLs whose bytes were really fetched."""
    urls: list[str] = []

    def counted(url: str, local: Path) -> None:
        urls.append(url)
        transfer.fetch(url, local)

    monkeypatch.setattr(spool, "fetch", counted)
    return urls


def test_where_videos_lie_changes_no_byte_of_the_store(
    bucket: str, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(clips, f"{bucket}/clips")
    far = index_of(f"{bucket}/clips", tmp_path / "far")
    there = store_of(far, tmp_path / "stores/there")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "other-cache"))
    near = index_of(clips, tmp_path / "near")

    rows = list(read_index(far).rows.values())
    assert {row.path for row in rows} == {f"{bucket}/clips/{path.name}" for path in clips.glob("*.mp4")}
    assert [row.sha256 for row in rows] == [row.sha256 for row in read_index(near).rows.values()]
    assert there == store_of(near, tmp_path / "stores/here")


def test_known_content_is_not_fetched_again(bucket: str, clips: Path, tmp_path: Path, fetched: list[str]) -> None:
    upload(clips, f"{bucket}/clips")
    index_of(f"{bucket}/clips", tmp_path / "index")
    assert len(fetched) == 3

    shutil.rmtree(spool.spool_folder())
    write_clip(tmp_path / "new.mp4", frames=9)
    transfer.send(tmp_path / "new.mp4", f"{bucket}/clips/new.mp4")
    index_of(f"{bucket}/clips", tmp_path / "index")
    assert fetched[3:] == [f"{bucket}/clips/new.mp4"], "one video costs one video"


def test_a_replaced_video_is_noticed(bucket: str, clips: Path, tmp_path: Path) -> None:
    upload(clips, f"{bucket}/clips")
    first = read_index(index_of(f"{bucket}/clips", tmp_path / "first"))
    victim = next(iter(first.rows.values()))
    write_clip(tmp_path / "other.mp4", frames=11)
    transfer.send(tmp_path / "other.mp4", victim.path)

    with pytest.raises(TooManyFailedError, match=r"1 videos failed.*changed"):
        store_of(tmp_path / "first", tmp_path / "store")
    second = read_index(index_of(f"{bucket}/clips", tmp_path / "second"))
    assert second.rows[victim.id].frames == 11
    assert len(store_of(tmp_path / "second", tmp_path / "store")) > 1


def test_a_video_that_is_gone_costs_itself(bucket: str, clips: Path, tmp_path: Path) -> None:
    upload(clips, f"{bucket}/clips")
    index = index_of(f"{bucket}/clips", tmp_path / "index")
    victim, *others = read_index(index).rows.values()
    transfer.remove(victim.path)
    shutil.rmtree(spool.spool_folder())
    params = {"toy": toy(max_failed=1)}
    outs = {"toy": tmp_path / "toy"}
    done = extract.extract_features(params, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET)

    assert done["failures"] == {victim.id: "missing"}
    assert done["videos"] == len(others)
    assert bucket not in (tmp_path / "toy/store.json").read_text(), "a store does not say where its videos lay"


def test_a_bad_video_is_quarantined_under_its_url(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"no video at all" * 100)
    transfer.send(tmp_path / "bad.mp4", f"{bucket}/bad.mp4")
    decode.decode_videos(videos=bucket, out=tmp_path / "index", params=Decode(max_failed=1), console=QUIET)

    (row,) = read_index(tmp_path / "index").quarantined.values()
    assert (row.reason, row.path) == ("not-a-video", f"{bucket}/bad.mp4")
    assert f"'{bucket}/bad.mp4'" in row.message
    assert "spool" not in row.message


def test_the_spool_is_bounded_and_takes_nothing_from_a_reader(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_SPOOL_GB", "0.000025")  # 25 kB
    for number in range(4):
        (tmp_path / "file").write_bytes(bytes([number]) * 10_000)
        transfer.send(tmp_path / "file", f"{bucket}/{number}.mp4")
    with spool.at_hand(f"{bucket}/0.mp4") as first:
        for number in (1, 2, 3):
            with spool.at_hand(f"{bucket}/{number}.mp4") as other:
                assert Path(other).read_bytes() == bytes([number]) * 10_000
        assert Path(first).read_bytes() == bytes([0]) * 10_000

    kept = [path for path in spool.spool_folder().iterdir() if path.is_file()]
    assert len(kept) == 2
    assert not list((spool.spool_folder() / "in-use").iterdir())


def test_a_file_of_this_machine_is_itself(tmp_path: Path) -> None:
    with spool.at_hand(str(tmp_path / "a.mp4")) as path:
        assert path == str(tmp_path / "a.mp4")
    assert not spool.spool_folder().exists()


def test_a_reader_is_told_the_url(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    transfer.send(tmp_path / "file", f"{bucket}/a.mp4")

    with pytest.raises(DecodeError, match=rf"'{bucket}/a.mp4' is bad"), spool.at_hand(f"{bucket}/a.mp4") as local:
        raise DecodeError("crash", f"'{local}' is bad")


def test_a_data_set_at_a_url_becomes_a_list_for_dvc(
    bucket: str, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    upload(clips, f"{bucket}/clips")
    ids = sorted(path.stem for path in clips.glob("*.mp4"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(
        "dataset: {name: demo, videos: nowhere, annotations: annotations.json}\nextract: {}\ntrain: {}\n"
    )
    _write_annotations(tmp_path / "annotations.json", ids)
    command = ["dataset", "use", "demo", "--videos", f"{bucket}/clips", "--annotations", "annotations.json"]

    assert main(command) == 0, capsys.readouterr().err
    assert "videos: demo.urls" in (tmp_path / "params.yaml").read_text()
    before = (tmp_path / "demo.urls").read_bytes()
    assert main(["decode", "--quiet"]) == 0
    assert sorted(read_index(tmp_path / "data/index").rows) == ids
    assert main(command) == 0
    assert (tmp_path / "demo.urls").read_bytes() == before, "nothing changed, so DVC has nothing to do"


def _write_annotations(path: Path, ids: list[str]) -> None:
    splits = ["train", "validate", "test"]
    videos = [{"video_id": ids[n], "split": split, "id": n} for n, split in enumerate(splits)]
    sentences = [{"video_id": id_, "sen_id": n, "caption": "a thing moves"} for n, id_ in enumerate(ids)]
    path.write_text(json.dumps({"videos": videos, "sentences": sentences}))


def test_a_mark_is_never_remembered_for_other_bytes(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced by as many bytes between the look and the fetch."""
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    transfer.send(tmp_path / "old", f"{bucket}/a.mp4")

    def replaced_first(url: str, local: Path) -> None:
        transfer.send(tmp_path / "new", url)
        transfer.fetch(url, local)

    monkeypatch.setattr(spool, "fetch", replaced_first)
    with pytest.raises(DecodeError, match="changed while it was fetched"), spool.at_hand(f"{bucket}/a.mp4"):
        pass
    assert not [path for path in spool.spool_folder().iterdir() if path.is_file()]


def test_making_room_leaves_what_others_are_fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    monkeypatch.setenv("FRAMESCRIBE_SPOOL_GB", "0")
    whole, coming = spool.spool_folder() / "whole", spool.spool_folder() / atomic.own_name("coming")
    left = spool.spool_folder() / coming.name.replace(f"-{os.getpid()}-", "-999999999-")  # of a killed process
    for path in (whole, coming, left):
        atomic.write_text(path, "bytes")

    spool._make_room(1)

    assert [path.name for path in spool.spool_folder().iterdir()] == [coming.name]
