"""Stores at URLs: the same bytes back, nothing before store.json, old or new and never a mixture, all of it checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.errors import DamageError, InputError, UsageError
from pipeline.remote import transfer
from pipeline.store import open_store, push_pull, write_store
from pipeline.store.manifest import read_manifest
from pipeline.store.push_pull import pull, push, shard_url
from tests.store.making import content, features


def make(folder: Path, seeds: range) -> Path:
    write_store(folder, {f"v{seed}": features(seed) for seed in seeds}, fingerprint={"weights": "random"})
    return folder


def test_a_store_comes_back_with_the_same_bytes(bucket: str, tmp_path: Path) -> None:
    store = make(tmp_path / "store", range(40))
    push(store, f"{bucket}/store")
    pull(f"{bucket}/store", tmp_path / "back")

    assert content(tmp_path / "back") == content(store)


def test_what_is_there_is_not_sent_or_fetched_again(bucket: str, tmp_path: Path) -> None:
    store = make(tmp_path / "store", range(3))
    shards = len(read_manifest(store)["shards"])
    assert push(store, f"{bucket}/store") == {"sent": shards, "kept": 0}
    assert push(store, f"{bucket}/store") == {"sent": 0, "kept": shards}
    assert pull(f"{bucket}/store", tmp_path / "back") == {"fetched": shards, "kept": 0}

    make(tmp_path / "store", range(4))
    assert push(store, f"{bucket}/store")["sent"] == 1
    assert pull(f"{bucket}/store", tmp_path / "back")["fetched"] == 1
    assert content(tmp_path / "back") == content(store)
    here = {shard_url(f"{bucket}/store", facts) for facts in read_manifest(store)["shards"].values()}
    assert set(transfer.below(f"{bucket}/store")) == {*here, f"{bucket}/store/store.json"}, "nothing old is left"


def test_half_an_upload_is_no_store(bucket: str, tmp_path: Path) -> None:
    store = make(tmp_path / "store", range(40))
    with _failing_after(2), pytest.raises(ConnectionError):
        push(store, f"{bucket}/store")
    assert len(transfer.below(f"{bucket}/store")) == 2
    with pytest.raises(InputError, match=r"no store at .*no store\.json"):
        pull(f"{bucket}/store", tmp_path / "back")
    assert not (tmp_path / "back").exists()

    assert push(store, f"{bucket}/store")["kept"] == 2, "the same command goes on"
    pull(f"{bucket}/store", tmp_path / "back")
    assert content(tmp_path / "back") == content(store)


def test_readers_see_the_old_store_until_the_new_one_is_whole(bucket: str, tmp_path: Path) -> None:
    push(make(tmp_path / "store", range(40)), f"{bucket}/store")
    old = content(tmp_path / "store")
    make(tmp_path / "store", range(20, 60))
    with _failing_after(3), pytest.raises(ConnectionError):
        push(tmp_path / "store", f"{bucket}/store")

    pull(f"{bucket}/store", tmp_path / "back")
    assert content(tmp_path / "back") == old


def test_a_damaged_shard_is_not_let_in(bucket: str, tmp_path: Path) -> None:
    store = make(tmp_path / "store", range(3))
    push(store, f"{bucket}/store")
    name, facts = next(iter(read_manifest(store)["shards"].items()))
    data = bytearray((store / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "flipped").write_bytes(data)
    transfer.send(tmp_path / "flipped", shard_url(f"{bucket}/store", facts))

    with pytest.raises(DamageError, match="its sha256 differs"):
        pull(f"{bucket}/store", tmp_path / "back")
    assert not (tmp_path / "back").exists()
    transfer.remove(shard_url(f"{bucket}/store", facts))
    with pytest.raises(DamageError, match=f"lacks its {name}"):
        pull(f"{bucket}/store", tmp_path / "back")


def test_a_damaged_shard_is_not_sent(bucket: str, tmp_path: Path) -> None:
    store = make(tmp_path / "store", range(3))
    shard = next(store.glob("shard-*"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")

    with pytest.raises(DamageError, match="its sha256 differs"):
        push(store, f"{bucket}/store")
    with pytest.raises(InputError, match="no store at"):
        pull(f"{bucket}/store", tmp_path / "back")


def test_a_shard_cannot_be_named_out_of_its_folder(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(make(tmp_path / "store", range(3)), f"{bucket}/store")
    manifest = read_manifest(tmp_path / "store")
    manifest["shards"]["../../escaped"] = next(iter(manifest["shards"].values()))
    monkeypatch.setattr(push_pull, "read_manifest", lambda _: manifest)

    with pytest.raises(DamageError, match=r"names a shard '\.\./\.\./escaped'"):
        pull(f"{bucket}/store", tmp_path / "back")
    assert not (tmp_path.parent / "escaped").exists()


def test_store_commands_take_urls(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "features/toy", range(5))
    url = f"{bucket}/features/toy"

    assert main(["store", "push", "toy", url]) == 0
    assert main(["store", "verify", url]) == 0
    assert main(["store", "diff", "toy", url]) == 0
    assert "no difference" in capsys.readouterr().out
    assert main(["store", "ls", url, "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)) == [f"v{n}" for n in range(5)]
    assert main(["store", "pull", url, "copy"]) == 0
    assert content(tmp_path / "features/copy") == content(tmp_path / "features/toy")
    assert main(["store", "repair", url]) == UsageError.exit_code
    assert main(["store", "verify", f"{bucket}/nothing"]) == InputError.exit_code
    assert "no store at" in capsys.readouterr().err


def test_a_reader_sees_the_store_as_it_is_now(bucket: str, tmp_path: Path) -> None:
    push(make(tmp_path / "store", range(3)), f"{bucket}/store")
    assert sorted(open_store(f"{bucket}/store")) == ["v0", "v1", "v2"]
    push(make(tmp_path / "store", range(4)), f"{bucket}/store")
    store = open_store(f"{bucket}/store")

    assert sorted(store) == ["v0", "v1", "v2", "v3"]
    assert (store["v3"]["pool"] == features(3)["pool"]).all()


@pytest.mark.slow
def test_a_killed_upload_leaves_no_store_and_goes_on(bucket: str, tmp_path: Path) -> None:
    """A real process, killed while it sends."""
    store = make(tmp_path / "store", range(400))
    url = f"{bucket}/store"
    command = [sys.executable, "-m", "pipeline", "store", "push", str(store), url, "--quiet"]
    slow = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], env=slow)
    deadline = time.monotonic() + 60
    while not push_pull._present(url) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if f"{url}/store.json" in push_pull._present(url):
        pytest.skip("it was done before it could be killed")
    with pytest.raises(InputError, match="no store at"):
        pull(url, tmp_path / "back")

    push(store, url)
    pull(url, tmp_path / "back")
    assert content(tmp_path / "back") == content(store)


@contextmanager
def _failing_after(uploads: int) -> Iterator[None]:
    left = [uploads]

    def send(local: Path, url: str) -> None:
        if not left[0]:
            raise ConnectionError("the cable was pulled")
        left[0] -= 1
        transfer.send(local, url)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(push_pull, "send", send)
        yield
