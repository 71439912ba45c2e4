"""Tensors prove that they are the published ones: by what is known of the file, or by what its conversion recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.weights import REGISTRY, Weights, import_bytes, load_weights, prove_tensors, verify
from tests.weights.making import entry_of, published

ROOT = Path(__file__).parents[2]
KNOWN = [name for name, each in REGISTRY.items() if each.sources and each.sources[0].tensors_sha256]
STATE = {"a": torch.ones(3), "b": torch.arange(4.0)}


@pytest.mark.parametrize("name", KNOWN)
def test_the_real_weights_are_known_tensor_by_tensor(name: str) -> None:
    folder = ROOT / "weights"
    if not (folder / f"{name}.safetensors").is_file():
        pytest.skip(f"framescribe weights fetch {name}")
    state = load_weights(name, folder=folder)

    assert prove_tensors(name, state, folder=folder) == (True, "published (tensor by tensor)")
    key = next(iter(state))
    assert not prove_tensors(name, state | {key: state[key] * 1.001}, folder=folder).holds


@pytest.mark.parametrize(
    ("name", "file"), [("raft_small_chairs_v1", "raft-small.pth"), ("vggish_pca", "vggish_pca_params.npz")]
)
def test_the_authors_own_files_become_the_known_tensors(name: str, file: str, tmp_path: Path) -> None:
    if not (published_here := ROOT.parent / "shared/data/weights" / file).is_file():
        pytest.skip(f"{file} is not part of the project")
    import_bytes(name, published_here.read_bytes(), file_name=file, folder=tmp_path)

    assert verify(name, folder=tmp_path) == "present"
    state = load_weights(name, folder=tmp_path)
    assert prove_tensors(name, state, folder=tmp_path) == (True, "published (tensor by tensor)")


def test_of_a_bundle_every_part_is_proven_and_what_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = published(STATE)
    for name, each in {"one": entry_of(data), "two": entry_of(data, source={"sha256": None})}.items():
        monkeypatch.setitem(REGISTRY, name, each)
        import_bytes(name, data, file_name="toy.pth", folder=tmp_path)
    bundle = Weights(description="both", licence="MIT", parts={"one": "", "two": "post."})
    monkeypatch.setitem(REGISTRY, "both", bundle)
    state = STATE | {f"post.{name}": tensor for name, tensor in STATE.items()}

    both = "published (sha256 of their file); as first imported: nobody published a hash"
    assert prove_tensors("both", state, folder=tmp_path) == (True, both)
    for name in ("a", "post.a"):
        holds, told = prove_tensors("both", state | {name: torch.full((3,), 1.001)}, folder=tmp_path)
        assert not holds
        assert f"the tensors of {'two' if 'post' in name else 'one'} have sha256" in told

    (tmp_path / "two.safetensors").unlink()
    assert "two, of which both was made, is no longer here" in prove_tensors("both", state, folder=tmp_path).told


def test_verify_asks_what_is_known_and_not_the_record_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = published(STATE)
    monkeypatch.setitem(REGISTRY, "one", entry_of(data, source={"tensors_sha256": "0" * 64}))
    import_bytes("one", data, folder=tmp_path)

    assert verify("one", folder=tmp_path) == "damaged"
