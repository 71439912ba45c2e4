"""Files of unknown origin: nothing outside of them is read, and a kilobyte does not become sixteen gigabytes."""

from __future__ import annotations

import ctypes
import io
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import InputError
from pipeline.store import open_store
from pipeline.store_tools.import_foreign import import_features

h5py = pytest.importorskip("h5py", reason="HDF5 is an optional extra: framescribe[hdf5]")
IN_OPEN = 0x20  # of inotify
SECRET = np.full((4, 4), 1234.5, np.float32)
MEMORY = 3 << 30  # bytes that an import of a few kilobytes may ask for


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.bin").write_bytes(SECRET.tobytes())
    with h5py.File(tmp_path / "outside/secret.h5", "w") as file:
        file["numbers"] = SECRET
    return tmp_path / "outside"


@contextmanager
def watched(folder: Path) -> Iterator[Callable[[], bool]]:
    """Whether any file of the folder was opened, also by native code: the kernel counts."""
    libc = ctypes.CDLL(None, use_errno=True)
    events = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(events, os.fsencode(folder), IN_OPEN)

    def touched() -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(events, 4096))
        return False

    yield touched
    os.close(events)


def external_link(file: h5py.File, outside: Path) -> None:
    file["v1"] = h5py.ExternalLink(str(outside / "secret.h5"), "/numbers")


def external_link_in_a_group(file: h5py.File, outside: Path) -> None:
    file.create_group("v1")["pool"] = h5py.ExternalLink(str(outside / "secret.h5"), "/numbers")


def soft_link_through_an_external_one(file: h5py.File, outside: Path) -> None:
    file.create_group("v1")["pool"] = h5py.SoftLink("/v1/away/numbers")
    file["v1"]["away"] = h5py.ExternalLink(str(outside / "secret.h5"), "/")


def external_storage(file: h5py.File, outside: Path) -> None:
    place = [(str(outside / "secret.bin"), 0, SECRET.nbytes)]
    file.create_dataset("v1", SECRET.shape, SECRET.dtype, external=place)


def virtual_dataset(file: h5py.File, outside: Path) -> None:
    layout = h5py.VirtualLayout(SECRET.shape, SECRET.dtype)
    layout[:] = h5py.VirtualSource(str(outside / "secret.h5"), "numbers", SECRET.shape)
    file.create_virtual_dataset("v1", layout)


@pytest.mark.parametrize(
    ("point", "told"),
    [
        (external_link, "'v1' is a link to another file .*secret.h5.*not read"),
        (external_link_in_a_group, "'pool' is a link to another file .*secret.h5.*not read"),
        (soft_link_through_an_external_one, "is a link to another .* not read"),
        (external_storage, "'/v1' keeps its bytes in other files, which are not read"),
        (virtual_dataset, "'/v1' keeps its bytes in other files, which are not read"),
    ],
)
def test_what_lies_outside_is_not_read(
    tmp_path: Path, outside: Path, point: Callable[[h5py.File, Path], None], told: str
) -> None:
    (tmp_path / "in").mkdir()
    with h5py.File(tmp_path / "in/theirs.h5", "w") as file:
        file["v0"] = np.ones((4, 4), np.float32)
        point(file, outside)

    with watched(outside) as touched:
        with pytest.raises(InputError, match=told):
            import_features(tmp_path / "in/theirs.h5", tmp_path / "in/store")
        assert not touched()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["theirs.h5"]


def test_the_watch_of_these_tests_sees_a_file_that_is_opened(outside: Path) -> None:
    with watched(outside) as touched:
        assert not touched()
        with h5py.File(outside / "secret.h5", "r"):
            assert touched()


def zeros_never_written(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("v0", (4 << 20, 1024), np.float32, chunks=(1024, 1024), compression="gzip")  # 16 GB


def many_names_of_one_array(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("v0", (1 << 20, 16), np.float32, chunks=(1 << 16, 16), compression="gzip")
        for number in range(1, 200):
            file[f"v{number}"] = file["v0"]


def a_chunk_larger_than_its_array(path: Path) -> None:
    with h5py.File(path, "w") as file:
        huge = {"chunks": (1 << 20, 1000), "maxshape": (None, 1000), "compression": "gzip"}
        file.create_dataset("v0", (2, 1000), np.float32, **huge)


def packed_zeros(path: Path) -> None:
    """A little more than a gigabyte of zeros, written in pieces."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("feat.npy", "w", force_zip64=True) as stream,
    ):
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (260, 1 << 20)})
        for _ in range(260):
            stream.write(bytes(1 << 22))


def a_header_that_promises_more(path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1024)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("feat.npy", stream.getvalue() + bytes(1000))


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("theirs.h5", zeros_never_written, r"says that its arrays have 17,179,869,184; more than 100 times"),
        ("theirs.h5", many_names_of_one_array, r"says that its arrays have 13,421,772,800; more than 100 times"),
        ("theirs.h5", a_chunk_larger_than_its_array, r"says that its arrays have 4,194,304,000; more than 100 times"),
        ("theirs.npz", packed_zeros, r"says that its arrays have 1,090,519,168; more than 100 times"),
        ("theirs.npz", a_header_that_promises_more, r"'feat.npy' says that it has 4,503,599,627,370,496 bytes"),
        ("folder/v.npz", packed_zeros, r"says that its arrays have 1,090,519,168; more than 100 times"),
        ("folder/v.npz", a_header_that_promises_more, r"'feat.npy' says that it has 4,503,599,627,370,496 bytes"),
    ],
)
def test_a_small_file_does_not_become_a_huge_store(
    tmp_path: Path, name: str, make: Callable[[Path], None], told: str
) -> None:
    """In a process of limited memory, which an array of that size would end."""
    source = tmp_path / name
    source.parent.mkdir(exist_ok=True)
    make(source)
    given = source.parent if source.parent != tmp_path else source
    command = ["store", "import", str(given), str(tmp_path / "store")]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *command],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*store*")) + list(tmp_path.glob(".*store*"))
    with pytest.raises(InputError, match=told):
        import_features(given, tmp_path / "store")


def test_what_does_not_fit_on_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir()
    np.save(tmp_path / "theirs/v.npy", np.ones((1000, 100)))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000})())

    with pytest.raises(InputError, match=r"says that its arrays have 800,128; the disk of .* has 1,000 left"):
        import_features(tmp_path / "theirs", tmp_path / "store")


@pytest.mark.parametrize("content", ["pickle", "text", "npy"])
def test_what_is_no_archive_of_arrays_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "theirs.npz"
    if content == "pickle":
        np.savez(path, ids=np.array(["a"]), feat=np.array([{}], dtype=object))
    elif content == "text":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "no array")
    else:
        np.save(path.open("wb"), np.ones(3))

    with pytest.raises(InputError, match=r"theirs\.npz' is not an archive of arrays that can be read"):
        import_features(path, tmp_path / "store")


@pytest.mark.parametrize("kind", ["text", "nested", "cut"])
def test_hdf5_that_holds_no_numbers_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file["v0"] = np.ones((400, 400))
        if kind == "text":
            file["v1"] = "words"
        if kind == "nested":
            file["v1/a/b"] = np.ones((2, 2))
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-2000])

    with pytest.raises(InputError, match=r"theirs\.h5'"):
        import_features(path, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_well_packed_features_are_still_read(tmp_path: Path) -> None:
    """Sparse ones shrink a lot; below a gigabyte nothing is suspicious."""
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file.create_dataset("v0", data=np.zeros((2000, 1000), np.float32), compression="gzip", compression_opts=9)
    assert (tmp_path / "theirs.h5").stat().st_size * 100 < 8_000_000
    import_features(tmp_path / "theirs.h5", tmp_path / "store")

    assert open_store(tmp_path / "store")["v0"]["pool"].shape == (2000, 1000)
