"""Fetching a repository from a hub on this machine that answers as the real one: commit, listing, files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline import weights
from pipeline.core.errors import InputError, MissingToolError, UsageError
from tests.extractors.tiny_transformers import published_folder

pytest.importorskip("transformers", reason="the extra `transformers` is not installed")
COMMIT, OTHER = "a" * 40, "b" * 40
NAME = "transformers:someone/tiny-clip"


@dataclass
class Hub:
    folder: Path
    commit: str = COMMIT
    instead: dict[str, bytes] = field(default_factory=dict)  # path -> what is sent for it
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str) -> bytes | None:
        self.asked.append(path)
        if path == "/api/models/someone/tiny-clip/revision/main":
            return json.dumps({"id": "someone/tiny-clip", "sha": self.commit}).encode()
        if path == f"/api/models/someone/tiny-clip/tree/{self.commit}":
            folder = {"type": "directory", "oid": "0" * 40, "size": 0, "path": "onnx"}
            return json.dumps([folder, *self.lines()]).encode()
        name = path.removeprefix(f"/someone/tiny-clip/resolve/{self.commit}/")
        if name == path or not (self.folder / name).is_file():
            return None
        return self.instead.get(name, (self.folder / name).read_bytes())

    def lines(self) -> Iterator[dict[str, object]]:
        """As the hub lists: of small files git's id, of large ones the sha256 and the id of a pointer."""
        for file in sorted(self.folder.iterdir()):
            data = file.read_bytes()
            git = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
            line: dict[str, object] = {"type": "file", "oid": git, "size": len(data), "path": file.name}
            if file.suffix != ".json":
                sha256 = hashlib.sha256(data).hexdigest()
                line |= {"oid": "1" * 40, "lfs": {"oid": sha256, "size": len(data), "pointerSize": 134}}
            yield line


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    found = Hub(published_folder("clip", tmp_path / "published", shard="20KB"))
    (found.folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (found.folder / "modeling_evil.py").write_text("evil")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = found.answer(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("FRAMESCRIBE_HUB", f"http://127.0.0.1:{server.server_port}")
    yield found
    server.shutdown()
    server.server_close()


def fetched(tmp_path: Path, name: str = NAME) -> dict[str, str]:
    weights.fetch(name, folder=tmp_path / "weights", accept_licence=True)
    return weights.origin(name, folder=tmp_path / "weights")


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "weights").rglob("*") if path.is_file())


def test_todays_commit_is_used_proven_and_recorded(hub: Hub, tmp_path: Path) -> None:
    facts = fetched(tmp_path)

    assert facts["revision"] == COMMIT
    assert facts["proof"] == f"the hub's hashes at commit {COMMIT}"
    assert left(tmp_path) == ["tiny-clip.safetensors"]
    assert weights.verify(NAME, folder=tmp_path / "weights") == "present"
    assert not [path for path in hub.asked if path.endswith((".py", ".bin"))], "code and pickles are not even fetched"
    assert len(facts["files"].splitlines()) == len(list(hub.folder.glob("*.safetensors"))) + 3


def test_the_same_weights_as_from_the_folder_itself(hub: Hub, tmp_path: Path) -> None:
    fetched(tmp_path)
    weights.import_files("transformers:mine", [hub.folder], folder=tmp_path / "weights")

    one, other = (weights.origin(name, folder=tmp_path / "weights") for name in (NAME, "transformers:mine"))
    assert {key: one[key] for key in ("tensors_sha256", "config", "processor", "files")} == {
        key: other[key] for key in ("tensors_sha256", "config", "processor", "files")
    }


def test_a_commit_in_the_name_is_the_one_that_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    name = f"{NAME}@{COMMIT}"

    assert fetched(tmp_path, name)["revision"] == COMMIT
    assert not [path for path in hub.asked if "revision" in path]
    with pytest.raises(MissingToolError, match=r"could not be fetched\n.*the server says 404"):
        fetched(tmp_path, f"{NAME}@{OTHER}")


@pytest.mark.parametrize("file", ["config.json", "model-00002-of-"])
def test_a_file_that_is_not_the_listed_one_is_refused_and_removed(hub: Hub, tmp_path: Path, file: str) -> None:
    name = next(path.name for path in sorted(hub.folder.iterdir()) if path.name.startswith(file))
    data = bytearray((hub.folder / name).read_bytes())
    data[-2] ^= 1
    hub.instead = {name: bytes(data)}

    with pytest.raises(InputError, match=rf"tiny-clip/{name}: the hub's (sha256|git blob) is .*, what came has"):
        fetched(tmp_path)
    assert left(tmp_path) == []


def test_another_length_than_listed_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.instead = {"config.json": b"{}"}

    with pytest.raises(InputError, match="has 2 bytes; the published file has"):
        fetched(tmp_path)
    assert weights.status(NAME, folder=tmp_path / "weights") == "missing"


def test_a_repository_of_pickles_alone_is_refused(hub: Hub, tmp_path: Path) -> None:
    for file in hub.folder.glob("*.safetensors*"):
        file.unlink()

    with pytest.raises(InputError, match=r"someone/tiny-clip has no model\.safetensors.*pickles are not read"):
        fetched(tmp_path)
    assert left(tmp_path) == []


def test_a_licence_that_nobody_read_is_accepted_first(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Read it at https://huggingface\.co/someone/tiny-clip"):
        weights.fetch(NAME, folder=tmp_path / "weights")
    assert hub.asked == []


def test_a_folder_of_ones_own_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError) as caught:
        fetched(tmp_path, "transformers:mine")
    assert caught.value.hint == "framescribe weights import transformers:mine FOLDER"


def test_only_https_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_HUB", "http://hub.example.org")

    with pytest.raises(MissingToolError, match="only https is fetched"):
        fetched(tmp_path)
