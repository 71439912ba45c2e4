"""`framescribe store ...` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.extraction.disk_estimate import Estimate, shortages
from pipeline.store import Failure, open_store, write_store
from tests.store.making import TOY, extracted, features, index_of, toy


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failures = {"bad": Failure("timeout", "too slow")}
    write_store(
        Path("features/one"), {"v0": features(0), "v1": features(1)}, fingerprint={"dtype": 1}, failures=failures
    )
    write_store(Path("features/two"), {"v0": features(0), "v2": features(2)}, fingerprint={"dtype": 2})


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    found = main(["store", *arguments])
    out, err = capsys.readouterr()
    assert found == code, err
    return out + err


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_ls(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"one", "two"} == answered(capsys, "ls").keys()
    assert "grid, pool" in said(capsys, "ls")
    assert "timeout: too slow" in said(capsys, "ls", "one")
    assert answered(capsys, "ls", "one", "--failed").keys() == {"bad"}
    assert "dvc repro extract@nowhere" in said(capsys, "ls", "nowhere", code=3)


@pytest.mark.parametrize("action", ["ls", "verify"])
def test_outside_a_project_there_is_nothing_to_list_or_to_call_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    told = said(capsys, action, code=3)

    assert f"there is no folder 'features' in {elsewhere}: this is not a project" in told


def test_ls_goes_on_past_a_damaged_store(capsys: pytest.CaptureFixture[str]) -> None:
    Path("features/one/store.json").write_bytes(b"{}")

    assert "damaged" in said(capsys, "ls")


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answered(capsys, "show", "v1")
    assert shown["one"]["tensors"]["pool"] == {"shape": [3, 4], "dtype": "float32"}
    assert shown["one"]["table"]["first_frame"] == [0, 1, 2]
    assert shown["two"]["state"] == "absent"
    assert "bad is failed: timeout: too slow" in said(capsys, "show", "bad", "--store", "one")
    assert main(["store", "show", "nobody"]) == 3
    assert "no store knows a video 'nobody'" in capsys.readouterr().err


def test_verify_and_repair(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no problems" in said(capsys, "verify")
    shard = next(path for path in Path("features/one").glob("shard-*") if b"v1/pool" in path.read_bytes())
    shard.write_bytes(shard.read_bytes()[:-1])

    assert "framescribe store repair features/one" in said(capsys, "verify", code=6)
    assert "framescribe store repair" in said(capsys, "verify", "one", code=6)
    assert "no problems" in said(capsys, "verify", "two")
    assert "v1" in answered(capsys, "repair", "one")["dropped"]
    assert "no problems" in said(capsys, "verify", "one")
    assert "every video is whole" in said(capsys, "repair", "one")
    Path("features/two/store.json").write_bytes(b"")
    assert "framescribe extract two" in said(capsys, "repair", "two")


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "diff", "one", "two")
    assert found == {"fields": {"dtype": [1, 2]}, "only_left": ["v1"], "only_right": ["v2"], "changed": []}
    assert "no difference" in said(capsys, "diff", "one", "one")
    write_store(Path("features/two"), {"v0": features(5), "v1": features(1)}, fingerprint={"dtype": 1})
    assert "1 videos with other bytes: v0" in said(capsys, "diff", "one", "two")


def test_export_and_import(capsys: pytest.CaptureFixture[str]) -> None:
    assert "2 videos as npz" in said(capsys, "export", "one", "out", "--format", "npz")
    assert "2 videos, 6 rows" in said(capsys, "import", "out", "three")
    assert set(open_store("features/three")) == {"v0", "v1"}


def test_estimate_is_exact(clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index_of(clips, tmp_path / "data/index")
    params = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "train": {}}
    Path("params.yaml").write_text(json.dumps(params | {"extract": {"toy": TOY}}))
    Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
    before = json.loads(said(capsys, "--profile", "one.yaml", "--json", "estimate", "toy"))
    extracted(Path("data/index"), Path("features/toy"), params=toy())
    after = json.loads(said(capsys, "--profile", "one.yaml", "--json", "estimate"))

    manifest = open_store("features/toy").manifest
    assert before["stores"]["toy"]["store"] == manifest["sizes"]["bytes"]
    assert before["stores"]["toy"]["rows"] == manifest["sizes"]["rows"]
    assert (before["stores"]["toy"]["cached"], after["stores"]["toy"]["cached"]) == (0, 8)
    entries = [path.stat() for path in (tmp_path / "cache/features").glob("??/*")]
    assert 0.7 < sum(facts.st_blocks * 512 for facts in entries) / before["to_cache"] <= 1
    assert after["to_cache"] == 0


def test_a_disk_that_is_too_small_is_told_of(tmp_path: Path) -> None:
    huge = Estimate("x", videos=1, rows=1, shards=10**18, cached=0, to_cache=1, out=tmp_path / "features/x")
    small = Estimate("x", videos=1, rows=1, shards=1, cached=0, to_cache=1, out=tmp_path / "features/x")

    assert "1000000000.00 GB are needed" in "".join(shortages([huge]))
    assert list(shortages([small])) == []


def test_extract_takes_several_names_but_one_folder(capsys: pytest.CaptureFixture[str]) -> None:
    params = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "train": {}}
    Path("params.yaml").write_text(json.dumps(params | {"extract": {"a": TOY, "b": TOY}}))

    assert main(["extract", "a", "b", "--out", "here"]) == 2
    assert "--out is the folder of one store" in capsys.readouterr().err
