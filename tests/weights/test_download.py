"""Downloads over a real socket: cut, stalled, redirected, refused, changed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.console import Console, Progress
from pipeline.core.errors import InputError, MissingToolError
from pipeline.weights import download as module
from pipeline.weights.download import download, require_safe
from tests.weights.serving import Behaviour, serving

DATA = np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
QUIET = Console(quiet=True)


def fetched(behaviour: Behaviour, folder: Path, **options: Any) -> bytes:
    with serving(behaviour) as url:
        download(url, folder / "toy.pth", console=QUIET, **options)
    return (folder / "toy.pth").read_bytes()


def test_a_file_comes_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    assert fetched(Behaviour(DATA), tmp_path) == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["toy.pth"]


def test_a_cut_transfer_goes_on_where_it_was(tmp_path: Path) -> None:
    behaviour = Behaviour(DATA, cut_after=[100_000, 50_000])

    assert fetched(behaviour, tmp_path) == DATA
    assert behaviour.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_the_next_command_goes_on_where_the_last_one_was_cut(tmp_path: Path) -> None:
    first = Behaviour(DATA, cut_after=[100_000])
    with pytest.raises(MissingToolError, match=r"ended after 100,000 of 300,000 bytes; what came is kept"):
        fetched(first, tmp_path, attempts=1)
    assert not (tmp_path / "toy.pth").exists()
    second = Behaviour(DATA)

    assert fetched(second, tmp_path) == DATA
    assert second.asked == ["bytes=100000-"]


def test_a_server_without_ranges_sends_all_again(tmp_path: Path) -> None:
    behaviour = Behaviour(DATA, cut_after=[100_000], ranges=False)

    assert fetched(behaviour, tmp_path) == DATA
    assert behaviour.asked == [None, "bytes=100000-"]


@pytest.mark.parametrize("tag", ['"two"', ""], ids=["another version", "no version told"])
def test_parts_of_two_versions_are_never_joined(tmp_path: Path, tag: str) -> None:
    with pytest.raises(MissingToolError):
        fetched(Behaviour(b"x" * 300_000, cut_after=[100_000]), tmp_path, attempts=1)

    assert fetched(Behaviour(DATA, tag=tag), tmp_path) == DATA


def test_a_part_longer_than_the_file_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "toy.pth.part").write_bytes(DATA + b"more")
    (tmp_path / "toy.pth.part.version").write_text('"one"')
    behaviour = Behaviour(DATA)

    assert fetched(behaviour, tmp_path) == DATA
    assert behaviour.asked == ["bytes=300004-", None]


def test_a_stalled_transfer_is_given_up_and_goes_on(tmp_path: Path) -> None:
    behaviour = Behaviour(DATA, stall=True)

    assert fetched(behaviour, tmp_path, timeout=2.0) == DATA
    assert behaviour.asked == [None, "bytes=150000-"]


def test_a_redirect_on_the_same_machine_is_followed(tmp_path: Path) -> None:
    behaviour = Behaviour(DATA, redirect_to="/moved/toy.pth", cut_after=[100_000])

    assert fetched(behaviour, tmp_path) == DATA
    assert behaviour.asked == [None, None, "bytes=100000-", "bytes=100000-"]


@pytest.mark.parametrize("where", ["http://example.org/toy.pth", "file:///etc/passwd", "ftp://example.org/toy.pth"])
def test_a_redirect_to_an_unsafe_address_is_not_followed(tmp_path: Path, where: str) -> None:
    with pytest.raises(MissingToolError, match=r"only https is fetched|not allowed"):
        fetched(Behaviour(DATA, redirect_to=where), tmp_path)
    assert not (tmp_path / "toy.pth").exists()


@pytest.mark.parametrize("url", ["http://example.org/x", "file:///etc/passwd", "http://localhost.example.org/x"])
def test_only_https_is_asked_for(url: str, tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="only https is fetched"):
        download(url, tmp_path / "x", console=QUIET)


def test_a_public_server_cannot_send_us_to_a_service_on_this_machine() -> None:
    with pytest.raises(MissingToolError):
        require_safe("http://127.0.0.1:8080/x", before="https://example.org/x")


@pytest.mark.parametrize("status", [404, 403, 500])
def test_what_the_server_says_is_told(tmp_path: Path, status: int) -> None:
    with pytest.raises(MissingToolError, match=f"the server says {status} "):
        fetched(Behaviour(DATA, status=status), tmp_path)


def test_nobody_listening_is_told(tmp_path: Path) -> None:
    with serving(Behaviour(DATA)) as url:
        pass

    with pytest.raises(MissingToolError, match="refused"):
        download(url, tmp_path / "x", console=QUIET)


def test_another_size_than_published_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 300,000 bytes; the published file has 299,999"):
        fetched(Behaviour(DATA), tmp_path, size=299_999)


@pytest.mark.parametrize("tell_length", [True, False])
def test_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell_length: bool) -> None:
    monkeypatch.setattr(module, "LIMIT", 200_000)

    with pytest.raises(InputError, match="200,000"):
        fetched(Behaviour(DATA, tell_length=tell_length), tmp_path)


@dataclass(frozen=True)
class Watched(Console):
    """Remembers how many steps were promised and how many were done."""

    promised: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:  # noqa: ARG002  the console's signature
        self.promised.append(total)
        yield self

    def advance(self, steps: int = 1, note: str = "") -> None:  # noqa: ARG002  the console's signature
        self.done.append(steps)


def test_progress_counts_mebibytes(tmp_path: Path) -> None:
    console = Watched()

    with serving(Behaviour(bytes(5 * 2**19))) as url:  # two and a half
        download(url, tmp_path / "x", console=console)

    assert (console.promised, sum(console.done)) == ([3], 3)
