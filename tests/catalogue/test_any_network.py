"""`extractors add` for what has no card, and a stranger's fine-tuned network on its way to features."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision.models import resnet50, squeezenet1_1

from pipeline.cli import main
from pipeline.core import Console, file_sha256
from pipeline.extraction.build_extractor import planned_outputs
from pipeline.params.file import load_params
from pipeline.params.report import Report
from pipeline.report.report import make_report
from pipeline.store import open_store, read_manifest
from tests.clips import write_clip
from tests.extractors.tiny_transformers import published_folder
from tests.report.conftest import build_project

OPENAIS = "timm:vit_base_patch32_clip_224.openai"


@pytest.mark.parametrize(
    ("network", "name", "family", "asked"),
    [
        ("timm:resnet18.a1_in1k", "resnet18_a1_in1k", "frames", "timm:resnet18"),
        ("torchvision:resnet50.IMAGENET1K_V2", "resnet50_IMAGENET1K_V2", "frames", "torchvision:resnet50"),
        ("torchvision:r3d_18", "r3d_18", "clips", "torchvision:r3d_18"),
        ("timm:vit_base_patch32_clip_224.openai", "vit_base_patch32_clip_224_openai", "frames", OPENAIS),
    ],
)
def test_any_network_of_a_library_is_added(network: str, name: str, family: str, asked: str, project: Path) -> None:
    assert main(["extractors", "add", network, "--quiet"]) == 0

    entry = load_params().extract[name]
    assert (entry.family, entry.network, entry.weights) == (family, asked, network)


def test_a_tower_of_open_clip_is_timms(project: Path) -> None:
    assert main(["extractors", "add", "open_clip:ViT-B-32/openai", "--quiet"]) == 0

    entry = load_params().extract["ViT-B-32_openai"]
    assert (entry.network, entry.weights, entry.outputs) == (OPENAIS, OPENAIS, ["embed"])
    assert planned_outputs(entry) == {"embed": (512,)}


@pytest.mark.parametrize(
    ("kind", "sampling"),
    [
        ("clip", {"every": 5}),
        ("videomae", {"every": 2, "window": 4, "stride": 4, "tail": "pad"}),
        ("whisper", {"hop": 2.0}),
    ],
)
def test_a_network_of_transformers_becomes_features(kind: str, sampling: dict[str, float], project: Path) -> None:
    folder = published_folder(kind, Path("published"))
    videos = Path(load_params().dataset.videos)
    videos.mkdir(parents=True)
    noise = np.random.default_rng(0).normal(0, 0.1, (1, 48_000)).astype(np.float32)
    write_clip(videos / "one.mp4", frames=12, sound=noise)
    assert main(["decode", "--quiet"]) == 0

    assert main(["weights", "import", "transformers:mine", str(folder)]) == 0
    assert main(["extractors", "add", "transformers:mine"]) == 0
    assert main(["extract", "mine", "--quiet"]) == 0

    entry = load_params().extract["mine"]
    assert (entry.network, entry.sampling.model_dump(exclude_unset=True)) == (f"transformers:{kind}", sampling)
    assert open_store(Path("features/mine"))["one"]["pool"].std() > 0


def test_a_network_of_transformers_that_is_not_here_says_how_to_get_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extractors", "add", "transformers:someone/tiny"]) == 4

    assert "framescribe weights fetch transformers:someone/tiny" in capsys.readouterr().err


@pytest.mark.parametrize("network", ["open_clip:ViT-B-32", "timm:nosuch", "timm:resnet18.", "torchvision:raft_small"])
def test_what_no_family_takes_is_refused(network: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (project / "params.yaml").read_text()

    assert main(["extractors", "add", network]) == 2

    assert network.partition(":")[2] in capsys.readouterr().err
    assert (project / "params.yaml").read_text() == before


def test_a_fine_tuned_resnet50_becomes_features_in_three_commands(project: Path) -> None:
    torch.manual_seed(1)
    model = resnet50(weights=None, num_classes=10).eval()
    torch.save(model.state_dict(), "best.pth")
    videos = Path(load_params().dataset.videos)
    videos.mkdir(parents=True)
    write_clip(videos / "one.mp4", frames=12)
    assert main(["decode", "--quiet"]) == 0

    assert main(["weights", "import", "my_resnet50", "best.pth", "--network", "torchvision:resnet50"]) == 0
    assert main(["extractors", "add", "my_resnet50"]) == 0
    assert main(["extract", "my_resnet50", "--quiet"]) == 0

    rows = open_store(Path("features/my_resnet50"))["one"]["pool"]
    assert rows.shape == (3, 2048)
    assert rows.std() > 0


@pytest.fixture
def mine(project: Path) -> str:
    """A store by weights of the user's own, with real commands; the sha256 of the file."""
    torch.manual_seed(1)
    torch.save(squeezenet1_1(weights=None).state_dict(), "best.pth")
    videos = Path(load_params().dataset.videos)
    videos.mkdir(parents=True)
    write_clip(videos / "one.mp4", frames=12)
    network = ["--network", "torchvision:squeezenet1_1"]
    for command in (["decode"], ["weights", "import", "mine", "best.pth", *network], ["extractors", "add", "mine"]):
        assert main([*command, "--quiet"]) == 0
    assert main(["extract", "mine", "--quiet"]) == 0
    return hashlib.sha256(Path("best.pth").read_bytes()).hexdigest()


def test_store_and_report_say_yours_and_which_file(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["ls"], ["ls", "mine"], ["show", "one"]):
        capsys.readouterr()
        assert main(["store", *command]) == 0
        assert f"weights of mine: mine: yours, sha256 {mine}" in capsys.readouterr().out

    sources = build_project(Path("page"), test_videos=3)
    Path("features/mine").rename("page/features/mine")
    page, names = Path("page.html"), ["mobilenet_v2", "mine"]
    shown = {"runs": ["attention"], "extractors": names, "params": Report(examples=1), "console": Console(quiet=True)}
    make_report(dataset="demo", sources=sources, out=page, **shown)  # type: ignore[arg-type]

    assert page.read_text().count("yours, sha256") == 1
    assert f"weights mine: yours, sha256 {mine}" in page.read_text()


def test_whose_weights_survives_a_repair_and_is_no_part_of_the_fingerprint(mine: str) -> None:
    before = read_manifest(Path("features/mine"))
    Path("features/mine/stray").write_text("")  # something to repair

    assert main(["store", "repair", "mine", "--quiet"]) == 0

    after = read_manifest(Path("features/mine"))
    assert after["own_weights"] == before["own_weights"] == {"mine": mine}
    assert after["fingerprint_sha256"] == before["fingerprint_sha256"]
    assert after["fingerprint"]["weights"] == file_sha256(Path("weights/mine.safetensors"))
