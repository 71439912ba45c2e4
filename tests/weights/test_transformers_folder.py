"""Folders of transformers': whole ones become weights, and every fault is refused in words with nothing left behind."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline import weights
from pipeline.core.errors import InputError, MissingToolError, UsageError
from tests.extractors.tiny_transformers import published_folder
from tests.weights.making import Bomb, published

pytest.importorskip("transformers", reason="the extra `transformers` is not installed")
NAME = "transformers:mine"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return published_folder("clip", tmp_path / "published")


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def imported(folder: Path, tmp_path: Path, *, name: str = NAME) -> dict[str, torch.Tensor]:
    weights.import_files(name, [folder], folder=tmp_path / "weights")
    return weights.load_weights(name, folder=tmp_path / "weights")


def test_the_file_has_the_picture_tower_and_both_configurations(folder: Path, tmp_path: Path) -> None:
    state, published_state = imported(folder, tmp_path), load_file(folder / "model.safetensors")
    facts = weights.origin(NAME, folder=tmp_path / "weights")

    kept = {name: tensor for name, tensor in published_state.items() if name.startswith("vis")}
    assert {name for name in published_state if name.startswith("text")}, "there was a text tower to leave out"
    assert state.keys() == kept.keys()
    assert all(torch.equal(state[name], kept[name]) for name in kept)
    assert json.loads(facts["config"]) == json.loads((folder / "config.json").read_text())
    assert json.loads(facts["processor"]) == json.loads((folder / "preprocessor_config.json").read_text())
    assert facts["network"] == "transformers:clip"
    assert f"{hashlib.sha256((folder / 'model.safetensors').read_bytes()).hexdigest()}  model" in facts["files"]
    assert weights.verify(NAME, folder=tmp_path / "weights") == "present"


@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json"])
def test_a_configuration_is_part_of_the_files_bytes(folder: Path, tmp_path: Path, file: str) -> None:
    """So it is part of the feature's identity, which has the sha256 of this file."""
    path = tmp_path / "weights" / f"{NAME}.safetensors"
    imported(folder, tmp_path)
    before = path.read_bytes()
    imported(folder, tmp_path)
    again = path.read_bytes()
    edit(folder / file, note="another")
    imported(folder, tmp_path)

    assert before == again
    assert before != path.read_bytes()


def test_files_in_parts_give_the_same(tmp_path: Path) -> None:
    whole = imported(published_folder("clip", tmp_path / "whole"), tmp_path)
    parts = published_folder("clip", tmp_path / "parts", shard="20KB")
    assert len(list(parts.glob("*.safetensors"))) > 3

    state = imported(parts, tmp_path)

    assert state.keys() == whole.keys()
    assert all(torch.equal(state[name], whole[name]) for name in whole)


def test_half_precision_is_widened_without_loss(folder: Path, tmp_path: Path) -> None:
    halves = {name: tensor.bfloat16() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})

    state = imported(folder, tmp_path)

    assert {tensor.dtype for tensor in state.values()} == {torch.float32}
    assert all(torch.equal(tensor, halves[name].float()) for name, tensor in state.items())


def test_a_newer_processor_file_is_read_too(folder: Path, tmp_path: Path) -> None:
    old = folder / "preprocessor_config.json"
    facts = json.loads(old.read_text())
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": facts, "processor_class": "X"}))
    old.unlink()
    imported(folder, tmp_path)

    assert json.loads(weights.origin(NAME, folder=tmp_path / "weights")["processor"]) == facts


def no_processor(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def pickle_only(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(published({"a": Bomb(folder.parent / "exploded")}))


def another_architecture(folder: Path) -> None:
    edit(folder / "config.json", model_type="siglip")


def unknown_architecture(folder: Path) -> None:
    edit(folder / "config.json", model_type="bert")


def another_size(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    edit(folder / "config.json", vision_config={**config["vision_config"], "hidden_size": 64})


def a_tensor_short(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["visual_projection.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def own_code(folder: Path) -> None:
    edit(folder / "config.json", auto_map={"AutoModel": "modeling_evil.Evil"})
    (folder / "modeling_evil.py").write_text(f"open({str(folder.parent / 'exploded')!r}, 'w')")


def own_code_of_the_processor(folder: Path) -> None:
    edit(folder / "preprocessor_config.json", auto_map={"AutoProcessor": "modeling_evil.Evil"})


def another_processor(folder: Path) -> None:
    edit(folder / "preprocessor_config.json", image_processor_type="EvilProcessor")


def quantised(folder: Path) -> None:
    edit(folder / "config.json", quantization_config={"quant_method": "bitsandbytes"})


def no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def a_list(folder: Path) -> None:
    (folder / "config.json").write_text("[]")


def nested(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)


def two_files(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    (folder / "two.safetensors").write_bytes((folder / "one.safetensors").read_bytes())


FAULTS: dict[Callable[[Path], None], str] = {
    no_processor: r"has none of preprocessor_config\.json.*not known how its pictures or sounds are prepared",
    no_config: r"has no file 'config\.json'",
    truncated: r"model\.safetensors is not a safetensors file",
    pickle_only: r"has no \*\.safetensors, only pytorch_model\.bin, which can run code",
    another_architecture: r"these are not the weights of transformers:siglip.*tensors are missing \(.*another shape",
    unknown_architecture: r"'transformers:bert'; write transformers:MODEL_TYPE, with one of clip",
    another_size: r"not the weights of transformers:clip with this configuration: .*have another shape \(",
    a_tensor_short: r"1 tensors are missing \(visual_projection\.weight\)",
    own_code: r"config\.json asks for code of its publisher \(auto_map\), which is never run",
    own_code_of_the_processor: r"asks for code of its publisher \(auto_map\), which is never run",
    another_processor: r"the processor is 'EvilProcessor'; allowed: ",
    quantised: r"quantised weights are not read",
    no_json: r"config\.json is not JSON",
    a_list: r"config\.json is no table of names and values",
    nested: r"config\.json is not JSON",
    two_files: r"has 2 safetensors files and no model\.safetensors\.index\.json",
}


def refused(folder: Path, tmp_path: Path) -> str:
    with pytest.raises(InputError) as caught:
        imported(folder, tmp_path)
    assert not list((tmp_path / "weights").rglob("*")), "something was left behind"
    assert not (tmp_path / "exploded").exists()
    return str(caught.value)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_folder_is_refused_in_words(fault: Callable[[Path], None], folder: Path, tmp_path: Path) -> None:
    fault(folder)

    assert re.search(FAULTS[fault], refused(folder, tmp_path), flags=re.DOTALL)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    return published_folder("clip", tmp_path / "published", shard="20KB")


def test_a_truncated_part_is_refused(parts: Path, tmp_path: Path) -> None:
    part = sorted(parts.glob("*.safetensors"))[1]
    part.write_bytes(part.read_bytes()[:-100])

    assert f"{part.name} is not a safetensors file" in refused(parts, tmp_path)


def test_a_missing_part_is_refused(parts: Path, tmp_path: Path) -> None:
    part = sorted(parts.glob("*.safetensors"))[1]
    part.unlink()

    assert f"has no file '{part.name}'" in refused(parts, tmp_path)


def test_a_part_that_lacks_what_the_index_says_is_refused(parts: Path, tmp_path: Path) -> None:
    part = sorted(parts.glob("*.safetensors"))[1]
    save_file({"other": torch.zeros(1)}, part)

    assert "are in no file, the first is" in refused(parts, tmp_path)


def test_a_part_outside_of_the_folder_is_refused(parts: Path, tmp_path: Path) -> None:
    index = parts / "model.safetensors.index.json"
    secret = tmp_path / "secret.safetensors"
    save_file({"secret": torch.zeros(1)}, secret)
    edit(index, weight_map={"secret": "../secret.safetensors"})

    assert "has no file '../secret.safetensors'" in refused(parts, tmp_path)


def test_a_file_is_no_folder(folder: Path, tmp_path: Path) -> None:
    assert "is made of one folder, with config.json" in refused(folder / "model.safetensors", tmp_path)


@pytest.mark.parametrize("name", ["transformers:../../etc/passwd", "transformers:a/b/c", "transformers:a/b@main"])
def test_a_name_that_is_no_repository_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write transformers:OWNER/NAME or transformers:OWNER/NAME@COMMIT"):
        weights.import_files(name, [folder], folder=tmp_path / "weights")


def test_without_the_extra_the_command_to_install_it_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(MissingToolError) as caught:
        imported(folder, tmp_path)
    assert caught.value.hint == "pip install 'framescribe[transformers]'"
