"""`framescribe extractors`: the catalogue as a table, as a card, and as an entry in params.yaml."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipeline.catalogue.cards import read_cards
from pipeline.cli import main
from pipeline.core.errors import UsageError
from pipeline.params.editing import edit_params
from pipeline.params.file import load_params

ROOT = Path(__file__).parents[2]


def test_the_list_has_every_card(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extractors", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(read_cards())


def test_a_card_shows_outputs_and_the_entry(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extractors", "show", "i3d_rgb"]) == 0
    shown = capsys.readouterr().out
    assert "Apache-2.0" in shown
    assert "window: 16" in shown
    assert "framescribe extractors add i3d_rgb" in shown
    assert re.search(r"option side +default: 224", shown)


@pytest.mark.parametrize("name", sorted(set(read_cards()) - set(load_params(ROOT / "params.yaml").extract)))
def test_an_added_extractor_is_the_cards_own(name: str, project: Path) -> None:
    before = (project / "params.yaml").read_text()

    assert main(["extractors", "add", name, "--quiet"]) == 0

    assert load_params().extract[name] == read_cards()[name].params
    assert "# rewritten by `framescribe dataset use`" in (project / "params.yaml").read_text()
    assert set(before.splitlines()) - set((project / "params.yaml").read_text().splitlines()) == set()


def test_a_tag_in_params_runs_nothing(project: Path) -> None:
    """What is edited is foreign text: neither a command nor the editor by itself may build objects from it."""
    poisoned = (project / "params.yaml").read_text() + "\nx: !!python/object/apply:os.mkdir [ran]\n"
    (project / "params.yaml").write_text(poisoned)

    assert main(["extractors", "add", "c3d", "--quiet"]) == 2
    with pytest.raises(UsageError, match="not valid YAML"):
        edit_params(lambda _: None)

    assert not (project / "ran").exists()
    assert (project / "params.yaml").read_text() == poisoned


def test_nothing_is_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extractors", "add", "mobilenet_v2"]) == 2
    assert "already" in capsys.readouterr().err


def test_an_unknown_name_lists_the_known(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extractors", "show", "i3d"]) == 2
    assert "i3d_rgb" in capsys.readouterr().err
