"""The layouts in which people have their features: each becomes the same store, that models read without an option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.core.errors import InputError
from pipeline.store.reader import open_store
from pipeline.store_tools.import_foreign import import_features

NUMBERS = np.random.default_rng(0)
FEATURES = {f"vid{number}": NUMBERS.normal(size=(number + 2, 8)).astype(np.float16) for number in range(4)}
STACKED = {id_: array[:2] for id_, array in FEATURES.items()}
IDS = list(FEATURES)


def npy_a_video(folder: Path) -> Path:
    for id_, array in FEATURES.items():
        np.save(folder / f"{id_}.npy", array)
    return folder


def npz_a_video_without_a_name(folder: Path) -> Path:
    for id_, array in FEATURES.items():
        np.savez(folder / f"{id_}.npz", array)
    return folder


def pt_a_video(folder: Path) -> Path:
    for id_, array in FEATURES.items():
        torch.save(torch.from_numpy(array), folder / f"{id_}.pt")
    return folder


def a_folder_a_split(folder: Path) -> Path:
    for number, (id_, array) in enumerate(FEATURES.items()):
        (folder / ("train", "test")[number % 2]).mkdir(exist_ok=True)
        np.save(folder / ("train", "test")[number % 2] / f"{id_}.npy", array)
    return folder


def npz_of_all(folder: Path) -> Path:
    np.savez(folder / "all.npz", **FEATURES)
    return folder / "all.npz"


def pt_of_all(folder: Path) -> Path:
    torch.save({id_: torch.from_numpy(array) for id_, array in FEATURES.items()}, folder / "all.pt")
    return folder / "all.pt"


@pytest.mark.parametrize(
    "write", [npy_a_video, npz_a_video_without_a_name, pt_a_video, a_folder_a_split, npz_of_all, pt_of_all]
)
def test_every_layout_is_the_same_store(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    (tmp_path / "theirs").mkdir()
    import_features(write(tmp_path / "theirs"), tmp_path / "store")
    store = open_store(tmp_path / "store")

    assert set(store) == set(FEATURES)
    for id_, array in FEATURES.items():
        assert list(store[id_]) == ["pool"]
        assert store[id_]["pool"].dtype == np.float16
        np.testing.assert_array_equal(store[id_]["pool"], array)


@pytest.mark.parametrize("ids", [np.array(IDS), np.array([id_.encode() for id_ in IDS])], ids=["text", "bytes"])
def test_stacks_of_all_videos_beside_their_ids(tmp_path: Path, ids: np.ndarray) -> None:
    np.savez(tmp_path / "all.npz", ids=ids, feat=np.stack(list(STACKED.values())))
    import_features(tmp_path / "all.npz", tmp_path / "store")

    np.testing.assert_array_equal(open_store(tmp_path / "store")["vid2"]["pool"], STACKED["vid2"])


def test_stacks_of_all_videos_in_a_file_of_torch(tmp_path: Path) -> None:
    stack = torch.from_numpy(np.stack(list(STACKED.values()))).bfloat16()
    torch.save({"ids": IDS, "feat": stack}, tmp_path / "all.pt")
    import_features(tmp_path / "all.pt", tmp_path / "store")

    found = open_store(tmp_path / "store")["vid2"]["pool"]
    np.testing.assert_array_equal(found, stack[2].float().numpy())


def test_tensor_names_an_only_array_whatever_its_file_calls_it(tmp_path: Path) -> None:
    for id_, array in FEATURES.items():
        np.savez(tmp_path / f"{id_}.npz", i3d_features=array)
    import_features(tmp_path, tmp_path.parent / "own")
    import_features(tmp_path, tmp_path.parent / "named", tensor="pool")

    assert list(open_store(tmp_path.parent / "own")["vid0"]) == ["i3d_features"]
    assert list(open_store(tmp_path.parent / "named")["vid0"]) == ["pool"]


def test_a_suffix_takes_the_files_of_its_ending_alone(tmp_path: Path) -> None:
    """The files of video_features: features, and beside them the times and the rate of frames."""
    (tmp_path / "theirs").mkdir()
    for id_, array in FEATURES.items():
        np.save(tmp_path / f"theirs/{id_}_rgb.npy", array)
        np.save(tmp_path / f"theirs/{id_}_flow.npy", array[:, :4])
        np.save(tmp_path / f"theirs/{id_}_timestamps_ms.npy", np.arange(len(array), dtype=np.float64))
        np.save(tmp_path / f"theirs/{id_}_fps.npy", np.array(25.0))
    import_features(tmp_path / "theirs", tmp_path / "store", suffix="_rgb")

    assert set(open_store(tmp_path / "store")) == set(FEATURES)
    with pytest.raises(InputError, match="no name ends with '_c3d'; there are: vid0_flow, vid0_fps"):
        import_features(tmp_path / "theirs", tmp_path / "other", suffix="_c3d")


class Command:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.system, ("touch was_run",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"vid0": Command()}, "is not a file of tensors alone"),
        ({"vid0": torch.ones(2, 3), "labels": ["a", None]}, "'labels' is no plain tensor of numbers, but list"),
        ({"vid0": torch.ones(2, 3), "epoch": 3}, "'epoch' is no plain tensor of numbers, but int"),
        ({"vid0": torch.ones(2, 3).to_sparse(), "vid1": torch.ones(2, 3)}, "'vid0' is no plain tensor"),
        ({"vid0": torch.ones(1, 1).expand(1 << 20, 1 << 20)}, "'vid0' says that it has 4,398,046,511,104 bytes"),
        (torch.ones(4, 2, 3), "must have one list of video ids; arrays of text there: none"),
    ],
)
@pytest.mark.filterwarnings("ignore:Validating sparse tensor")
def test_a_file_of_torch_that_is_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: object, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(content, "all.pt")
    with pytest.raises(InputError, match=message):
        import_features(Path("all.pt"), tmp_path / "store")
    assert not Path("was_run").exists()
    assert not (tmp_path / "store").exists()


def test_what_is_no_layout_says_how_to_save_it(tmp_path: Path) -> None:
    np.save(tmp_path / "all.npy", np.ones((4, 2, 8)))
    with pytest.raises(InputError, match="neither a folder nor a file of many videos") as caught:
        import_features(tmp_path / "all.npy", tmp_path / "store")
    assert "numpy.savez(FILE, **{id: array})" in caught.value.hint
