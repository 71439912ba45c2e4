"""A store as other people's files, and other people's files as a store."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import InputError, MissingToolError
from pipeline.store import ROW_COLUMNS, Store, open_store, write_store
from pipeline.store_tools.data_card import data_card
from pipeline.store_tools.export_names import file_stem
from pipeline.store_tools.export_store import export
from pipeline.store_tools.import_foreign import import_features
from pipeline.store_tools.verify_store import verify
from tests.store.making import content, features

VIDEOS = {
    name: features(number, rows=number + 1) for number, name in enumerate(["a", "b.c", "ü d", "x/y", "caf\udce9"])
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    write_store(tmp_path / "store", VIDEOS, fingerprint={"weights": "random"})
    return open_store(tmp_path / "store")


def require_same(store: Store, videos: dict) -> None:
    assert set(store) == set(videos)
    for video_id, video in videos.items():
        for name, array in video.parts().items():
            np.testing.assert_array_equal(store[video_id].parts()[name], array)
            assert store[video_id].parts()[name].dtype == array.dtype


@pytest.mark.parametrize("form", ["npy", "npz", "hdf5"])
def test_what_goes_out_comes_back_in(store: Store, tmp_path: Path, form: str) -> None:
    if form == "hdf5":
        pytest.importorskip("h5py", reason="HDF5 is an optional extra: framescribe[hdf5]")
    out = tmp_path / ("out.h5" if form == "hdf5" else "out")

    assert export(store, out, form=form) == len(VIDEOS)
    import_features(out, tmp_path / "back")

    require_same(open_store(tmp_path / "back"), VIDEOS)
    assert verify(tmp_path / "back") == []
    shards = {name for name in content(tmp_path / "back") if name.startswith("shard")}
    assert {name: content(tmp_path / "back")[name] for name in shards} == {
        name: sha256 for name, sha256 in content(tmp_path / "store").items() if name in shards
    }


@pytest.mark.parametrize("form", ["npy", "npz", "webdataset", "parquet"])
def test_equal_stores_give_equal_exports(store: Store, tmp_path: Path, form: str) -> None:
    outs = [tmp_path / name for name in "pq"]
    for out in outs:
        export(store, out, form=form)
    files = [{path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} for out in outs]

    assert files[0] == files[1]
    assert json.loads((outs[0] / "about.json").read_text())["fingerprint"] == {"weights": "random"}


def test_webdataset_samples_have_one_name_up_to_the_first_dot(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path / "out", form="webdataset")
    samples: dict[str, dict[str, bytes]] = {}
    for path in sorted((tmp_path / "out").glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                stem, _, kind = member.name.partition(".")
                samples.setdefault(stem, {})[kind] = tar.extractfile(member).read()  # type: ignore[union-attr]

    assert len(samples) == len(VIDEOS)
    for sample in samples.values():
        video = VIDEOS[json.loads(sample["json"])["id"]]
        np.testing.assert_array_equal(np.load(io.BytesIO(sample["pool.npy"])), video["pool"])
        np.testing.assert_array_equal(np.load(io.BytesIO(sample["rows.npz"]))["start"], video.rows.start)


def test_hdf5_without_its_package_names_the_extra(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "some.h5").write_bytes(b"")

    with pytest.raises(MissingToolError, match=r"h5py, which is not installed\n.*framescribe\[hdf5\]"):
        export(store, tmp_path / "out.h5", form="hdf5")
    with pytest.raises(MissingToolError, match=r"framescribe\[hdf5\]"):
        import_features(tmp_path / "some.h5", tmp_path / "back")
    assert not (tmp_path / "out.h5").exists()


def test_a_folder_of_npy_files_as_people_have_them(tmp_path: Path) -> None:
    """One vector or one matrix a video; nobody says which second a row is, so nobody is told one."""
    (tmp_path / "theirs").mkdir()
    np.save(tmp_path / "theirs/video0_rgb.npy", np.ones((5, 8), np.float32))
    np.save(tmp_path / "theirs/100%25_rgb.npy", np.zeros((2, 8), np.float32))
    import_features(tmp_path / "theirs", tmp_path / "store", tensor="i3d", suffix="_rgb")
    video = open_store(tmp_path / "store")["video0"]

    assert set(open_store(tmp_path / "store")) == {"video0", "100%25"}
    assert video["i3d"].shape == (5, 8)
    assert np.isnan(video.rows.start).all()
    assert (video.rows.first_frame == -1).all()
    assert verify(tmp_path / "store") == []

    np.save(tmp_path / "theirs/100%25_rgb.npy", np.zeros(8, np.float32))
    import_features(tmp_path / "theirs", tmp_path / "store", row_seconds=0.64, suffix="_rgb")
    assert open_store(tmp_path / "store")["100%25"]["pool"].shape == (1, 8)
    np.testing.assert_allclose(open_store(tmp_path / "store")["video0"].rows.end, np.arange(1, 6) * 0.64)


def test_an_hdf5_file_of_one_matrix_a_video(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="HDF5 is an optional extra: framescribe[hdf5]")
    with h5py.File(tmp_path / "theirs.hdf5", "w") as file:
        file["video0"] = np.ones((5, 8), np.float32)
        file["video1"] = np.ones((3, 8), np.float32)
    import_features(tmp_path / "theirs.hdf5", tmp_path / "store", tensor="c3d")

    assert open_store(tmp_path / "store")["video1"]["c3d"].shape == (3, 8)


def test_an_npz_file_of_all_videos(tmp_path: Path) -> None:
    ids, feat = np.array(["vid1", "vid2"]), np.arange(12, dtype=np.float16).reshape(2, 3, 2)
    np.savez(tmp_path / "all.npz", ids=ids, feat=feat, frame_idx=np.arange(3))
    import_features(tmp_path / "all.npz", tmp_path / "store", tensor="pool", scale=0.5)
    store = open_store(tmp_path / "store")

    assert set(store) == {"vid1", "vid2"}
    assert store["vid2"]["pool"].dtype == np.float16
    np.testing.assert_array_equal(store["vid2"]["pool"], feat[1] / 2)
    assert store.fingerprint["scale"] == 0.5
    assert verify(tmp_path / "store") == []

    np.savez(tmp_path / "all.npz", ids=ids, feat=feat, flow=feat[..., :1])
    import_features(tmp_path / "all.npz", tmp_path / "store", tensor="pool")
    assert {name: array.shape for name, array in open_store(tmp_path / "store")["vid1"].items()} == {
        "feat": (3, 2),
        "flow": (3, 1),
    }


def test_channels_can_be_standardized(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    feat = numbers.normal([5, -3, 7], [2, 0.5, 0], (4, 6, 3)).astype(np.float32)  # the last one never changes
    np.savez(tmp_path / "all.npz", ids=np.array(list("abcd")), feat=feat)
    import_features(tmp_path / "all.npz", tmp_path / "store", tensor="pool", standardize=True, scale=0.5)
    store = open_store(tmp_path / "store")
    rows = np.concatenate([store[video]["pool"] for video in "abcd"])

    np.testing.assert_allclose(rows.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(0), [0.5, 0.5, 0], atol=1e-5)
    assert store.fingerprint["standardized"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"feat": np.ones((2, 3))}, "one list of video ids; arrays of text there: none"),
        ({"ids": np.array(["a", "a"]), "feat": np.ones((2, 3))}, "ids occur twice"),
        ({"ids": np.array(["a", "b"]), "feat": np.ones((3, 3))}, "no array has 2 videos"),
    ],
)
def test_an_npz_file_that_does_not_say_whose_its_rows_are(tmp_path: Path, arrays: dict, message: str) -> None:
    np.savez(tmp_path / "all.npz", **arrays)
    with pytest.raises(InputError, match=message):
        import_features(tmp_path / "all.npz", tmp_path / "store")


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    with pytest.raises(InputError, match="there is no"):
        import_features(folder, tmp_path / "store")
    folder.mkdir()
    with pytest.raises(InputError, match="holds no features"):
        import_features(folder, tmp_path / "store")
    (folder / "bad.npy").write_bytes(b"not an array")
    with pytest.raises(InputError, match=r"bad\.npy' is not an array"):
        import_features(folder, tmp_path / "store")
    np.save(folder / "bad.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"bad\.npy' is not an array"):
        import_features(folder, tmp_path / "store")
    np.save(folder / "bad.npy", np.ones((2, 3)))
    np.save(folder / "good.npy", np.ones((2, 4)))
    with pytest.raises(InputError, match=r"'bad' has pool \[3\] float64; the videos before it have pool \[4\]"):
        import_features(folder, tmp_path / "store")
    assert not (tmp_path / "store").exists()


SPLITS = {"train": ["a", "ü d"], "test": ["x/y"]}


@pytest.mark.parametrize("splits", [SPLITS, {}], ids=["splits", "none"])
def test_parquet_as_hugging_faces_datasets_reads_it(
    store: Store, tmp_path: Path, splits: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    export(store, tmp_path / "out", form="parquet", splits=splits)

    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))

    counts = {split: table.num_rows for split, table in found.items()}
    assert counts == ({"train": 2, "test": 1, "other": 2} if splits else {"videos": len(VIDEOS)})
    require_same_columns(row for table in found.values() for row in table.with_format("arrow").iter(1))
    rows = {row["id"]: row for table in found.values() for row in table.with_format("numpy", dtype=None)}
    for video_id, video in VIDEOS.items():
        for name, array in video.parts().items():
            np.testing.assert_array_equal(rows[file_stem(video_id)][name], array, strict=True)


def test_lance_as_lance_reads_it(store: Store, tmp_path: Path) -> None:
    lance = pytest.importorskip("lance")
    export(store, tmp_path / "out", form="lance", splits=SPLITS)

    table = lance.dataset(str(tmp_path / "out/data.lance")).to_table()

    rows = [table.slice(number, 1) for number in range(len(table))]
    assert {row["id"][0].as_py(): row["split"][0].as_py() for row in rows}["x%2Fy"] == "test"
    names = {name.replace(".", "_"): name for name in ["pool", *(f"rows.{column}" for column in ROW_COLUMNS)]}
    require_same_columns(row.rename_columns([names.get(name, name) for name in row.column_names]) for row in rows)


def require_same_columns(tables: Iterable) -> None:
    """Of one row a video: every number, to the last bit and in its own type."""
    by_id = {row["id"][0].as_py(): row for row in tables}
    assert set(by_id) == {file_stem(video_id) for video_id in VIDEOS}
    for video_id, video in VIDEOS.items():
        for name, array in video.parts().items():
            values = by_id[file_stem(video_id)][name].combine_chunks().values
            for _ in array.shape[1:]:
                values = values.flatten()
            read = values.to_numpy(zero_copy_only=False)
            assert read.dtype == array.dtype
            assert read.tobytes() == array.tobytes()


def test_webdataset_as_webdataset_reads_it(store: Store, tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    export(store, tmp_path / "out", form="webdataset")
    tars = [str(path) for path in sorted((tmp_path / "out").glob("*.tar"))]

    samples = {each["json"]["id"]: each for each in webdataset.WebDataset(tars, shardshuffle=False).decode()}

    assert set(samples) == set(VIDEOS)
    for video_id, video in VIDEOS.items():
        for name, array in video.items():
            assert samples[video_id][f"{name}.npy"].tobytes() == array.tobytes()
        assert samples[video_id]["rows.npz"]["start"].tobytes() == video.rows.start.tobytes()


@pytest.mark.parametrize("form", ["npy", "hdf5", "parquet"])
def test_a_card_says_what_is_there(store: Store, tmp_path: Path, form: str) -> None:
    export(store, tmp_path / "out", form=form, splits=SPLITS)
    if form == "hdf5":
        with pytest.importorskip("h5py").File(tmp_path / "out") as file:
            card = file.attrs["README.md"]
    else:
        card = (tmp_path / "out/README.md").read_text()

    assert card.startswith("---\nlicense: other\n")
    assert "| `pool` |" in card
    assert "| train | 2 |\n| test | 1 |\n| other | 2 |" in card
    assert "**Untrained**" in card
    assert store.manifest["fingerprint_sha256"] in card


@pytest.mark.parametrize("own", [True, False])
def test_a_card_names_the_licence_of_weights_that_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    """By params.yaml, if the file that it names is the one that made the store."""
    monkeypatch.chdir(tmp_path)
    weights = Path("weights/mobilenet_v2.safetensors")
    monkeypatch.setattr("pipeline.store_tools.data_card.status", lambda _: "present")
    monkeypatch.setattr("pipeline.store_tools.data_card.converted_path", lambda _: weights)
    weights.parent.mkdir()
    weights.write_bytes(b"w")
    Path("params.yaml").write_text(
        "dataset: {name: demo, videos: videos, annotations: annotations.json}\n"
        "extract:\n"
        "  them: {family: frames, network: n, weights: mobilenet_v2, sampling: {every: 5}, outputs: [pool]}\n"
        "train: {}\n"
    )
    sha256 = hashlib.sha256(b"w" if own else b"other").hexdigest()
    write_store(tmp_path / "features/them", VIDEOS, fingerprint={"weights": sha256})

    card = data_card(open_store(tmp_path / "features/them"), form="npy", split_videos={})

    assert ("Licence: BSD-3-Clause" in card) == own
    assert ("their licence, is not known here" in card) != own


@pytest.mark.parametrize(("form", "package"), [("parquet", "pyarrow"), ("lance", "lance")])
def test_a_missing_package_names_its_extra(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingToolError, match=rf"framescribe\[{form}\]"):
        export(store, tmp_path / "out", form=form)
    assert not (tmp_path / "out").exists()
