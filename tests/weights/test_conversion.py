"""A published file is proven before it is read, read without running it, and found changed if it is changed later."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.torch import load_file, save

from pipeline import weights
from pipeline.core.errors import DamageError, InputError, MissingToolError, UsageError
from pipeline.weights import conversion, reading
from tests.weights.conftest import Register
from tests.weights.layouts import every_layout
from tests.weights.making import Bomb, published


def test_an_imported_file_comes_back_as_it_was_published(toy: bytes, tmp_path: Path) -> None:
    assert weights.status("toy", folder=tmp_path) == "missing"
    path = weights.import_bytes("toy", toy, folder=tmp_path)

    assert weights.status("toy", folder=tmp_path) == "present"
    loaded = weights.load_weights("toy", folder=tmp_path)
    assert loaded["count"].shape == ()
    for key, tensor in load_file(path).items():  # any other reader of the format sees the same
        assert torch.equal(tensor, loaded[key])
    torch.testing.assert_close(loaded["b"], torch.arange(3.0))


def test_two_conversions_have_the_same_bytes(toy: bytes, tmp_path: Path) -> None:
    first = weights.import_bytes("toy", toy, folder=tmp_path / "one").read_bytes()

    assert weights.import_bytes("toy", toy, folder=tmp_path / "two").read_bytes() == first


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25, deadline=None
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_before_the_file_is_read(toy: bytes, tmp_path: Path, place: float, bit: int) -> None:
    flipped = bytearray(toy)
    flipped[int(place * len(toy))] ^= 1 << bit

    with pytest.raises(InputError, match="none of the published files"):
        weights.import_bytes("toy", bytes(flipped), folder=tmp_path)
    assert weights.status("toy", folder=tmp_path) == "missing"


@every_layout
def test_no_layout_gets_in_flipped_or_cut(
    layout: str, make: Callable[[], bytes], key: str, register: Register, tmp_path: Path, monkeypatch
) -> None:
    whole = make()
    register("toy", whole, source={"layout": layout})
    monkeypatch.setattr(conversion, "read_published", lambda *_, **__: pytest.fail("it was read"))
    for share in (0.0, 0.01, 0.5, 0.999):
        place = int(share * len(whole))
        flipped = whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :]
        for changed in (flipped, whole[:place], whole + b"\0"):
            with pytest.raises(InputError, match="none of the published files"):
                weights.import_bytes("toy", changed, folder=tmp_path)
    assert weights.status("toy", folder=tmp_path) == "missing"


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40, deadline=None
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_flips_after_conversion_is_found(toy: bytes, tmp_path: Path, place: float, bit: int) -> None:
    path = weights.import_bytes("toy", toy, folder=tmp_path)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)

    assert weights.verify("toy", folder=tmp_path) == "damaged"
    with pytest.raises((MissingToolError, DamageError), match="damaged"):
        weights.load_weights("toy", folder=tmp_path)


def test_a_cut_conversion_is_damaged_and_not_loaded(toy: bytes, tmp_path: Path) -> None:
    path = weights.import_bytes("toy", toy, folder=tmp_path)
    path.write_bytes(path.read_bytes()[:-3])

    assert weights.status("toy", folder=tmp_path) == "damaged"
    with pytest.raises(MissingToolError, match="are damaged"):
        weights.load_weights("toy", folder=tmp_path)


def test_weights_made_of_another_file_than_the_registry_names_are_not_used(
    toy: bytes, register: Register, tmp_path: Path
) -> None:
    weights.import_bytes("toy", toy, folder=tmp_path)
    register("toy", b"the publisher's new file")

    assert weights.status("toy", folder=tmp_path) == "damaged"


@pytest.mark.parametrize("layout", ["torch", "arrays"])
def test_code_in_a_pickle_never_runs(register: Register, tmp_path: Path, layout: str) -> None:
    """Even a file whose hash is in the registry is loaded as data only."""
    bomb = Bomb(tmp_path / "exploded")
    data = published({"a": bomb}) if layout == "torch" else pickle.dumps({"a": bomb})
    register("bomb", data, source={"layout": layout})

    with pytest.raises(InputError, match=r"toy\.pth is not a"):
        weights.import_bytes("bomb", data, folder=tmp_path)
    assert not (tmp_path / "exploded").exists()
    pickle.loads(pickle.dumps(bomb))  # noqa: S301  the bomb is real
    assert (tmp_path / "exploded").exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_refused_even_if_its_hash_were_right(register: Register, tmp_path: Path, share: float) -> None:
    whole = published({"a": torch.ones(1000)})
    cut = whole[: int(share * len(whole))]
    register("cut", cut)

    with pytest.raises(InputError, match=r"toy\.pth is not a"):
        weights.import_bytes("cut", cut, folder=tmp_path)


def test_a_tensor_that_claims_more_than_its_file_has_is_refused(register: Register, tmp_path: Path) -> None:
    huge = torch.zeros(1).expand(2**40)
    data = published({"a": huge})
    assert len(data) < 10_000
    register("huge", data)

    with pytest.raises(InputError, match="would take"):
        weights.import_bytes("huge", data, folder=tmp_path)


def test_a_file_without_published_hash_is_trusted_on_first_use_only(register: Register, tmp_path: Path) -> None:
    data, other = published({"a": torch.ones(2)}), published({"a": torch.zeros(2)})
    register("tofu", b"", source={"sha256": None})

    weights.import_bytes("tofu", data, file_name="toy.pth", folder=tmp_path)

    assert weights.status("tofu", folder=tmp_path) == "present"
    record = weights.origin("tofu", folder=tmp_path)
    assert record["proof"].startswith("none")
    assert record["origin_sha256"] == hashlib.sha256(data).hexdigest()
    with pytest.raises(InputError, match="was first made of a file with sha256"):
        weights.import_bytes("tofu", other, file_name="toy.pth", folder=tmp_path)
    with pytest.raises(InputError, match="no hash was published"):
        weights.import_bytes("tofu", data, file_name="another.pth", folder=tmp_path / "elsewhere")


@pytest.mark.parametrize("kind", ["sha256_prefix", "git_blob"])
def test_other_published_hashes_prove_a_file_too(register: Register, tmp_path: Path, kind: str) -> None:
    data = published({"a": torch.ones(2)})
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324  as `git hash-object` does
    found = {"sha256_prefix": hashlib.sha256(data).hexdigest()[:8], "git_blob": blob}
    register("toy", data, source={"sha256": None, kind: found[kind]})

    weights.import_bytes("toy", data, folder=tmp_path)

    assert weights.status("toy", folder=tmp_path) == "present"
    with pytest.raises(InputError, match="none of the published files"):
        weights.import_bytes("toy", data + b"x", folder=tmp_path)


def test_a_state_in_safetensors_is_taken_when_it_is_trusted(toy: bytes, tmp_path: Path) -> None:
    data = save({"a": torch.ones(2)})

    with pytest.raises(InputError, match="--trust"):
        weights.import_bytes("toy", data, file_name="mine.safetensors", folder=tmp_path)
    weights.import_bytes("toy", data, file_name="mine.safetensors", folder=tmp_path, trust=True)

    assert weights.status("toy", folder=tmp_path) == "present"
    assert weights.origin("toy", folder=tmp_path)["proof"].startswith("none")


def test_published_names_become_ours_by_the_familys_module(
    register: Register, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    family = ModuleType("extractors.toy_family")
    family.map_published = lambda tree: {"ours": torch.from_numpy(tree["theirs"])}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "extractors.toy_family", family)
    data, wrong = pickle.dumps({"theirs": np.ones(3, np.float32)}), pickle.dumps({"other": 1})

    register("mapped", data, source={"layout": "arrays"}, mapping="toy_family")
    weights.import_bytes("mapped", data, folder=tmp_path)
    assert list(weights.load_weights("mapped", folder=tmp_path)) == ["ours"]

    register("mapped", wrong, source={"layout": "arrays"}, mapping="toy_family")
    with pytest.raises(InputError, match=r"does not have the tensors that toy_family expects \(KeyError: 'theirs'\)"):
        weights.import_bytes("mapped", wrong, folder=tmp_path)


def test_what_is_no_state_dictionary_is_refused(register: Register, tmp_path: Path) -> None:
    data = published({"epoch": 3, "state_dict": {"a": torch.ones(1)}})
    register("whole", data)

    with pytest.raises(InputError, match="not a state dictionary"):
        weights.import_bytes("whole", data, folder=tmp_path)


def test_missing_weights_say_address_file_folder_and_command(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError) as raised:
        weights.load_weights("mobilenet_v2", folder=tmp_path)

    told = str(raised.value)
    for words in (
        "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
        "file    mobilenet_v2-b0353104.pth",
        f"folder  {tmp_path / 'downloads'}",
        "framescribe weights fetch mobilenet_v2",
        "framescribe weights import mobilenet_v2 FILE",
    ):
        assert words in told


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"known: mobilenet_v2, .*i3d_rgb.*, and 'random'"):
        weights.entry("vgg")


def test_no_limit_is_smaller_than_a_published_file() -> None:
    """The limits refuse bombs, not what the registry names."""
    known = [source.about for entry in weights.REGISTRY.values() for source in entry.sources if source.about]

    assert max(known) * 2**20 < reading.LIMIT / 4
