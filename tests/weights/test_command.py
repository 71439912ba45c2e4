"""`framescribe weights`: what it prints, what it leaves, and the exit code that a script can act on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from pipeline import weights
from pipeline.cli import main
from tests.weights.conftest import Register
from tests.weights.making import published
from tests.weights.serving import Behaviour, serving

DATA = published({"a": torch.arange(4.0)})
PARAMS = """
dataset: {name: demo, videos: videos, annotations: annotations.json}
extract:
  one: {family: frames, network: mobilenet_v2, weights: toy, sampling: {every: 5}}
  two: {family: frames, network: mobilenet_v2, weights: random, sampling: {every: 5}}
train:
  mean_pool: {model: mean_pool, features: {appearance: one}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register: Register) -> Path:
    """A project whose params.yaml needs the weights `toy`, with the published file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "toy.pth").write_bytes(DATA)
    register("toy", DATA)
    return tmp_path


def test_list_shows_every_entry(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "list"]) == 0
    told = capsys.readouterr().out

    for name in weights.REGISTRY:
        assert name in told
    assert "CC-BY-NC-3.0 (conditions)" in told


def test_status_is_of_what_params_need(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "status"]) == 4
    told = capsys.readouterr()
    assert "toy" in told.out
    assert "mobilenet_v2" not in told.out
    assert "framescribe weights fetch toy" in told.err

    assert main(["weights", "import", "toy", "toy.pth"]) == 0
    capsys.readouterr()
    assert main(["weights", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"toy": "present"}


def test_import_says_what_proves_the_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "import", "toy", "toy.pth"]) == 0
    assert "toy: weights/toy.safetensors (proof: sha256)" in capsys.readouterr().out


def test_import_says_when_nothing_proves_the_file(
    project: Path, register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    register("toy", DATA, source={"sha256": None})

    assert main(["weights", "import", "toy", "toy.pth"]) == 0
    told = capsys.readouterr().out
    assert "proof: none" in told
    assert weights.origin("toy")["origin_sha256"] in told


def test_verify_finds_one_flipped_bit(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "import", "toy", "toy.pth"]) == 0
    assert main(["weights", "verify"]) == 0
    path = project / "weights/toy.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    assert main(["weights", "status"]) == 0  # the header is whole: status is quick and does not read on
    assert main(["weights", "verify", "toy"]) == 6
    assert "weights/toy.safetensors is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fetch"], 2, "needs a name"),
        (["fetch", "nonsense"], 2, "no weights are called 'nonsense'"),
        (["import", "toy"], 2, "needs a file"),
        (["import", "toy", "gone.pth"], 3, "no such file: gone.pth"),
        (["import", "toy", "params.yaml"], 3, "none of the published files"),
        (["fetch", "toy", "toy.pth"], 2, "takes no file"),
        (["verify", "toy"], 4, "is missing"),
        (["status", "nonsense"], 2, "no weights are called"),
    ],
)
def test_what_is_wrong_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(["weights", *arguments]) == code
    assert words in capsys.readouterr().err


def test_fetch_shows_licence_and_progress(
    project: Path, register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Behaviour(DATA)) as url:
        register("toy", DATA, source={"url": url}, terms="Name the authors.")
        assert main(["weights", "fetch", "toy"]) == 2
        assert "Name the authors." in capsys.readouterr().err
        assert main(["weights", "fetch", "toy", "--accept-licence"]) == 0

    told = capsys.readouterr()
    assert "a toy (MIT)" in told.out
    assert "toy.pth (MiB): 1/1" in told.err


def test_offline_is_exit_code_four(project: Path, register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Behaviour(DATA)) as url:
        pass  # and now nobody listens there
    register("toy", DATA, source={"url": url})

    assert main(["weights", "fetch", "toy"]) == 4
    told = capsys.readouterr().err
    assert "next: framescribe weights import toy weights/downloads/toy.pth" in told


def test_the_page_has_the_registrys_table(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs/weights.md").read_text()

    assert main(["weights", "list", "--markdown"]) == 0
    assert capsys.readouterr().out in page, "write it anew: framescribe weights list --markdown"
    for name, entry in weights.REGISTRY.items():
        assert not entry.terms or f"- `{name}`: {entry.licence}. {entry.terms}" in page
