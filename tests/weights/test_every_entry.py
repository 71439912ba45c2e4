"""Every published file of every entry becomes the whole state of its network, and none gets in poisoned."""

from __future__ import annotations

import importlib
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from extractors import i3d_flow, mask_rcnn, vggish
from extractors.parts import c3d_network
from pipeline import weights
from pipeline.core.errors import InputError
from pipeline.weights import REGISTRY, WeightsSource, conversion
from pipeline.weights.bare_networks import bare_network
from pipeline.weights.reading import read_published
from tests.weights.making import Bomb, published
from tests.weights.published_files import on_meta, tree_of

FILES = [
    pytest.param(name, source, id=f"{name}-{source.file_name}")
    for name, entry in REGISTRY.items()
    for source in {source.file_name: source for source in entry.sources}.values()
]
BUNDLES = [name for name, entry in REGISTRY.items() if entry.parts]
every_file = pytest.mark.parametrize(("name", "source"), FILES)


def mapped(name: str, source: WeightsSource) -> dict[str, Tensor]:
    """Torch's files are really written and read, since stand-ins take no room in them; the other readers elsewhere."""
    tree: Any = tree_of(name, source.file_name)
    if source.layout == "torch":
        tree = read_published(published(tree), layout="torch", source=source.file_name)
    mapping = REGISTRY[name].mapping
    return importlib.import_module(f"extractors.{mapping}").map_published(tree) if mapping else tree


def strictly(network: nn.Module, state: dict[str, Tensor]) -> None:
    """No name missing, none left over, every shape as it should be, and every number from the file."""
    network.load_state_dict(state, assign=True)
    assert not [
        name for name, tensor in network.state_dict().items() if tensor.is_meta and not name.endswith("tracked")
    ]


@every_file
def test_every_published_file_loads_strictly(name: str, source: WeightsSource) -> None:
    state = mapped(name, source)

    assert all(isinstance(value, Tensor) for value in state.values())
    strictly(bare_network(name), state)


@pytest.mark.parametrize("name", BUNDLES)
def test_every_bundle_is_all_that_its_extractor_loads(name: str) -> None:
    parts = {part: mapped(part, REGISTRY[part].sources[0]) for part in REGISTRY[name].parts}
    state = {f"{REGISTRY[name].parts[part]}{key}": value for part, each in parts.items() for key, value in each.items()}
    assert len(state) == sum(map(len, parts.values()))

    if name in c3d_network.CLASSES:
        strictly(on_meta(lambda: c3d_network.C3d(classes=c3d_network.CLASSES[name])), state)
    elif name == "vggish_quantised":
        strictly(on_meta(lambda: vggish.Vggish(with_pca=True)), state)
    elif name in ("vatex_regions", "yolo_regions"):
        for part, prefix in REGISTRY[name].parts.items():
            strictly(bare_network(part), mask_rcnn.part(state, prefix.rstrip(".")) or {})
    else:
        for_flow, for_i3d = i3d_flow.split(state)
        strictly(bare_network("i3d_flow"), for_i3d)
        strictly(bare_network(name.removeprefix("i3d_flow_")), for_flow)


@pytest.mark.parametrize("name", {entry.mapping: name for name, entry in REGISTRY.items() if entry.sources}.values())
def test_a_file_of_another_network_is_refused(name: str) -> None:
    state, network = mapped(name, REGISTRY[name].sources[0]), bare_network(name)
    one = next(key for key, tensor in state.items() if tensor.ndim and key in network.state_dict())
    faults = {
        "Missing key": {key: tensor for key, tensor in state.items() if key != one},
        "Unexpected key": state | {"of another": torch.zeros(2)},
        "size mismatch": state | {one: torch.zeros(3, 5, 7)},
    }

    for message, faulty in faults.items():
        with pytest.raises(RuntimeError, match=message):
            strictly(network, faulty)


@every_file
def test_a_file_that_is_not_the_published_one_is_never_looked_into(
    name: str, source: WeightsSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a hash was published; a file without one is trusted on first use, so the reader has to be safe."""
    bomb = Bomb(tmp_path / "exploded")
    data = published({"a": bomb}) if source.layout == "torch" else pickle.dumps({"a": bomb})
    if source.has_hash:
        monkeypatch.setattr(conversion, "read_published", lambda *_, **__: pytest.fail("it was read"))

    with pytest.raises(InputError, match="none of the published files" if source.has_hash else "is not a"):
        weights.import_bytes(name, data, file_name=source.file_name, folder=tmp_path)
    assert not (tmp_path / "exploded").exists()
    assert weights.status(name, folder=tmp_path) == "missing"


@pytest.mark.parametrize("protocol", range(6))
def test_the_bomb_of_these_tests_is_real(protocol: int, tmp_path: Path) -> None:
    pickle.load(io.BytesIO(pickle.dumps(Bomb(tmp_path / "exploded"), protocol)))  # noqa: S301

    assert (tmp_path / "exploded").exists()
