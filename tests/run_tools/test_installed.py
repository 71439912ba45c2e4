"""The wheel, in an environment of its own, in an empty folder: nothing of the repository is at hand."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from pipeline.core import read_sealed_json
from tests.project_copy import ROOT, copy_project

pytestmark = pytest.mark.slow
PACKAGES = ("framescribe", "pipeline", "extractors", "models", "workflows")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a copy, for the build leaves folders behind."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    copy_project(source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", out, source], check=True)
    (built,) = out.glob("*.whl")
    return built


def test_it_has_every_file_of_its_packages_and_no_others(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")[:-1]
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert held == set(tracked)


def test_a_run_is_carried_to_it(
    wheel: Path, trained: Path, elsewhere: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python, site = place / "bin/python", sysconfig.get_path("purelib", vars={"base": str(place)})
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheel], check=True)
    (Path(site) / "beside.pth").write_text(sysconfig.get_path("purelib"))  # what it needs; no .pth there is read
    environment = {"PATH": os.environ["PATH"], "HOME": str(elsewhere), "FRAMESCRIBE_CACHE": str(elsewhere / "cache")}

    def run(*command: str | Path) -> str:
        return subprocess.run(
            command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=True
        ).stdout

    whole = trained / "exported/whole.run"
    run(place / "bin/framescribe", "caption", "clip.mp4", "--run", whole, "--out", "said.json", "--html", "page.html")
    said = "import framescribe, sys; print(framescribe.__file__, framescribe.open_run(sys.argv[1]).caption('clip.mp4'))"
    ours = read_sealed_json(trained / "said.json", hint="")["predictions"]["green"]

    assert read_sealed_json(elsewhere / "said.json", hint="")["predictions"]["clip"] == ours
    assert run(python, "-c", said, whole).strip() == f"{site}/framescribe/__init__.py {ours['caption']}"
