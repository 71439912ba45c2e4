"""Weights of the user's own: taken under any name when the network can load them, refused in words when it cannot."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save
from torchvision.models import get_model

from extractors.parts.optical_flow import flow_method
from extractors.parts.published.princeton_raft import map_published
from pipeline import weights
from pipeline.cli import main
from tests.weights.making import Bomb, published

PRINCETON = Path(__file__).parents[3] / "shared/data/weights/raft-small.pth"
NETWORK = "torchvision:squeezenet1_1"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(3)
    return get_model("squeezenet1_1", weights=None).state_dict()


def import_it(file: str, network: str = NETWORK) -> int:
    return main(["weights", "import", "mine", file, "--network", network])


@pytest.mark.parametrize("ending", ["pth", "pt", "bin", "safetensors"])
@pytest.mark.parametrize("prefix", ["", "module.", "model.", "backbone.", "module.model."])
def test_usual_files_are_taken(state: dict[str, torch.Tensor], ending: str, prefix: str) -> None:
    named = {f"{prefix}{name}": tensor for name, tensor in state.items()}
    data = save(named) if ending == "safetensors" else published({"epoch": 3, "state_dict": named} if prefix else named)
    Path(f"file.{ending}").write_bytes(data)

    assert import_it(f"file.{ending}") == 0

    found = weights.load_weights("mine")
    assert found.keys() == state.keys()
    assert all(torch.equal(found[name], state[name]) for name in state)
    assert weights.verify("mine") == "present"


@pytest.mark.parametrize("around", [("model", "state_dict"), ("state_dict", "model"), ("model_state", "model")])
def test_a_state_inside_a_checkpoint_inside_another_is_found(
    around: tuple[str, str], state: dict[str, torch.Tensor]
) -> None:
    outer, inner = around
    Path("file.ckpt").write_bytes(published({outer: {inner: state, "epoch": 3}, "optimizer": {}}))

    assert import_it("file.ckpt") == 0


@pytest.mark.usefixtures("state")
def test_a_checkpoint_that_contains_itself_ends(capsys: pytest.CaptureFixture[str]) -> None:
    around: dict[str, Any] = {}
    around["model"] = around
    Path("file.pt").write_bytes(published(around))

    assert import_it("file.pt") == 3
    assert "is not a state dictionary" in capsys.readouterr().err


def test_status_says_yours_and_which_file(state: dict[str, torch.Tensor], capsys: pytest.CaptureFixture[str]) -> None:
    Path("file.pth").write_bytes(published(state))
    assert import_it("file.pth") == 0
    capsys.readouterr()

    assert main(["weights", "status", "mine"]) == 0

    assert f"yours, sha256 {hashlib.sha256(Path('file.pth').read_bytes()).hexdigest()}" in capsys.readouterr().out


def test_classes_of_a_fine_tuned_network_are_taken(state: dict[str, torch.Tensor]) -> None:
    state |= {"classifier.1.weight": torch.zeros(7, 512, 1, 1), "classifier.1.bias": torch.zeros(7)}
    Path("file.pth").write_bytes(published(state))

    assert import_it("file.pth") == 0


class Shell:
    """Of a module that torch's reader refuses by its own list, in other words."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


def broken(kind: str, state: dict[str, torch.Tensor], folder: Path) -> bytes:
    whole = published(state)
    first = next(iter(state))
    files = {
        "not a file of tensors": b"these are words",
        "truncated": whole[: len(whole) // 2],
        "runs code": published({**state, "extra": Bomb(folder / "exploded")}),
        "runs a shell": published({**state, "extra": Shell()}),
        "other shapes": published({**state, first: torch.zeros(5, 3, 3, 3)}),
        "other network": published(get_model("mobilenet_v3_small", weights=None).state_dict()),
        "no tensors": published({"a": 3}),
        "no names": published(dict(enumerate(state.values()))),
        "no numbers": published({**state, first: torch.zeros(64, 3, 3, 3, device="meta")}),
        "sparse": published({**state, first: state[first].to_sparse()}),
        "eight bits": save({**state, first: state[first].to(torch.float8_e4m3fn)}),
    }
    return files[kind]


WORDS = {
    "not a file of tensors": "is not a file of tensors alone",
    "truncated": "is not a whole file",
    "runs code": "is not a file of tensors alone: Unsupported global: GLOBAL",
    "runs a shell": "is not a file of tensors alone: Trying to load unsupported GLOBAL posix.system whose module posix",
    "other shapes": "features.0.weight is (5, 3, 3, 3), not (64, 3, 3, 3)",
    "other network": "it lacks 52 of 52 tensors",
    "no tensors": "is not a state dictionary",
    "no names": "'0' is no name, or has no numbers",
    "no numbers": "'features.0.weight' is no name, or has no numbers",
    "sparse": "'features.0.weight' is sparse_coo, float32, which is not kept",
    "eight bits": "'features.0.weight' is strided, float8_e4m3fn, which is not kept",
}


@pytest.mark.parametrize("kind", WORDS)
def test_what_the_network_cannot_load_is_refused_and_nothing_stays(
    kind: str, state: dict[str, torch.Tensor], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ("file.safetensors" if kind == "eight bits" else "file.pth")
    file.write_bytes(broken(kind, state, tmp_path))

    assert import_it(file.name) == 3

    assert WORDS[kind] in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [file.name]


@pytest.mark.parametrize(
    ("name", "network", "told"),
    [
        ("i3d_rgb", NETWORK, "the registry's"),
        ("random", NETWORK, "a name of your own"),
        ("../up", NETWORK, "a name of your own"),
        ("mine", "torchvision:nosuch", "no network is called 'nosuch'"),
        ("mine", "timm:nosuch", "timm has no network 'nosuch'"),
        ("mine", "open_clip:ViT-B-32", "known: timm, torchvision, pytorchvideo"),
    ],
)
def test_names_that_cannot_be(
    name: str, network: str, told: str, state: dict[str, torch.Tensor], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file.pth").write_bytes(published(state))

    assert main(["weights", "import", name, "file.pth", "--network", network]) == 2

    assert told in capsys.readouterr().err


def test_another_file_under_the_same_name_is_refused(
    state: dict[str, torch.Tensor], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file.pth").write_bytes(published(state))
    Path("other.pth").write_bytes(published({name: tensor + 1 for name, tensor in state.items()}))
    assert import_it("file.pth") == 0

    assert import_it("other.pth") == 3

    assert "remove weights/mine.safetensors" in capsys.readouterr().err


def test_a_file_that_is_trusted_must_still_fit_its_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.pth").write_bytes(published({"none.of": torch.zeros(3), "these.fit": torch.zeros(3)}))

    assert main(["weights", "import", "raft_small", "file.pth", "--trust"]) == 3

    assert weights.status("raft_small") == "missing"


@pytest.mark.parametrize("network", ["raft_small", "raft_large"])
def test_the_authors_names_of_raft_are_known(network: str) -> None:
    """Every name of torchvision's, spelt as princeton-vl/RAFT does, comes back; its doubled norms are left out."""
    ours = get_model(network, weights=None).state_dict()
    theirs = {
        f"module.{princeton_name(name, units=2 if network == 'raft_large' else 1)}": tensor
        for name, tensor in ours.items()
    }
    theirs |= {
        name.replace("downsample.1", "norm3"): tensor for name, tensor in theirs.items() if ".downsample.1." in name
    }

    found = map_published(theirs)

    assert found.keys() == ours.keys()
    assert all(found[name] is ours[name] for name in ours)
    assert map_published(ours) == ours


def princeton_name(name: str, *, units: int) -> str:
    for ours, theirs in {
        "feature_encoder.": "fnet.",
        "context_encoder.": "cnet.",
        "convnormrelu.0.": "conv1.",
        "convnormrelu.1.": "norm1.",
        "net.conv.": "net.conv2.",
        "motion_encoder.conv.0": "encoder.conv",
        "motion_encoder.convcorr": "encoder.convc",
        "motion_encoder.convflow": "encoder.convf",
        "mask_predictor.convrelu.0": "update_block.mask.0",
        "mask_predictor.conv.": "update_block.mask.2.",
        **{f"convnormrelu{n}.0.": f"conv{n}." for n in (1, 2, 3)},
        **{f"convnormrelu{n}.1.": f"norm{n}." for n in (1, 2, 3)},
        **{f"encoder.conv{kind}{n}.0.": f"encoder.conv{kind}{n}." for kind in "cf" for n in (1, 2)},
    }.items():
        name = name.replace(ours, theirs)
    if "recurrent_block.convgru" in name:
        before, _, after = name.partition("recurrent_block.convgru")
        number, gate, kind = after.split(".")
        # the small network has one unit, whose gates have no number
        name = f"{before}gru.{gate}{number if units == 2 else ''}.{kind}"
    return name


@pytest.mark.skipif(not PRINCETON.exists(), reason="Princeton's raft-small.pth is not here")
def test_princetons_own_file_finds_the_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that moves by (5, -3) pixels: a network with wrong names in one layer would find anything else."""
    monkeypatch.chdir(tmp_path)
    assert main(["weights", "import", "authors", str(PRINCETON), "--network", "raft_small", "--json"]) == 0
    torch.manual_seed(0)
    picture = torch.nn.functional.interpolate(torch.rand(1, 3, 40, 40), size=(200, 200), mode="bicubic").clamp(0, 1)[0]
    frames = torch.stack([picture, picture.roll((-3, 5), (1, 2))]).permute(0, 2, 3, 1)  # (2, H, W, 3)

    flows = flow_method("raft_small", weights=weights.load_weights("authors"))(frames)

    assert flows[0, 40:-40, 40:-40].mean((0, 1)).tolist() == pytest.approx([5, -3], abs=0.5)
    assert json.loads(json.dumps(weights.origin("authors")))["network"] == "raft_small"
