"""Random reads of whole videos: the store against one npy file per video, HDF5 and a bare copy in memory.

Prints ratios of the same run, and what opening a store of ten thousand videos costs.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.store import Store, VideoFeatures, open_store, rows_of, write_store

SHAPES = {"12 rows of 1280": (12, 1280), "40 rows of 2048": (40, 2048), "20 maps of 7 x 7 x 1280": (20, 7, 7, 1280)}
TOTAL = 300 << 20  # bytes of each set, far below the page cache: the disk's own speed is not measured
ROUNDS = 5


class Made(Mapping[str, VideoFeatures]):
    """Videos of random numbers, made when they are asked for."""

    def __init__(self, shape: tuple[int, ...], count: int) -> None:
        self.shape, self.names = shape, [f"video{number}" for number in range(count)]

    def __getitem__(self, name: str) -> VideoFeatures:
        numbers = np.random.default_rng(int(name[5:])).random(self.shape, np.float32)
        return VideoFeatures(tensors={"pool": numbers}, rows=rows_of(len(numbers)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def seconds(read: Callable[[str], np.ndarray], order: list[str]) -> float:
    """To read every video once in a random order and look at all of its numbers."""
    started = time.perf_counter()
    for name in order:
        read(name).max()
    return time.perf_counter() - started


def readers(folder: Path, videos: Made) -> dict[str, Callable[[], Callable[[str], np.ndarray]]]:
    """Ways to read, each opened anew for a round."""
    write_store(folder / "store", videos, fingerprint={})
    (folder / "npy").mkdir()
    for name, video in videos.items():
        np.save(folder / f"npy/{name}.npy", video["pool"])
    memory = {name: video["pool"].copy() for name, video in videos.items()}
    kept = open_store(folder / "store")
    found: dict[str, Callable[[], Callable[[str], np.ndarray]]] = {
        "memory copy": lambda: lambda name: memory[name].copy(),
        "store, first read (checked)": lambda: of_store(open_store(folder / "store")),
        "store, read before": lambda: of_store(kept),
        "npy a video": lambda: lambda name: np.load(folder / f"npy/{name}.npy"),
        "npy a video, mmap": lambda: lambda name: np.load(folder / f"npy/{name}.npy", mmap_mode="r"),
    }
    if importlib.util.find_spec("h5py") is not None:
        import h5py

        with h5py.File(folder / "all.h5", "w") as file:
            for name, video in videos.items():
                file[name] = video["pool"]
        found["HDF5"] = lambda: of_hdf5(h5py.File(folder / "all.h5"))
    return found


def of_store(store: Store) -> Callable[[str], np.ndarray]:
    return lambda name: store[name]["pool"]


def of_hdf5(file: Any) -> Callable[[str], np.ndarray]:
    return lambda name: file[name][()]


def compare(label: str, shape: tuple[int, ...]) -> None:
    videos = Made(shape, max(8, TOTAL // (4 * int(np.prod(shape)))))
    size = 4 * int(np.prod(shape))
    order = np.random.default_rng(0).permutation(videos.names).tolist()
    with tempfile.TemporaryDirectory() as folder:
        ways = readers(Path(folder), videos)
        times = {name: min(seconds(opened(), order) for _ in range(ROUNDS)) for name, opened in ways.items()}
    files = {name: taken for name, taken in times.items() if name.startswith(("npy", "HDF5"))}
    print(f"{label}: {len(order)} videos of {size / 1e6:.2f} MB")
    for name, taken in times.items():
        speed = f"{len(order) / taken:9.0f} reads/s {len(order) * size / taken / 1e9:6.2f} GB/s"
        print(f"  {name:<28} {speed}   {min(files.values()) / taken:5.2f} x the fastest of the other files")


def opening(count: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        videos = Made((2, 8), count)
        origins = {name: {"sha256": f"{number:064x}", "decoder": "decord"} for number, name in enumerate(videos)}
        write_store(Path(folder) / "store", videos, fingerprint={}, origins=origins)
        started = time.perf_counter()
        store = open_store(Path(folder) / "store")
        opened = time.perf_counter() - started
        store["video77"]["pool"]
        first = time.perf_counter() - started - opened
    print(f"opening a store of {count} videos: {1000 * opened:.0f} ms; its first video: {1000 * first:.1f} ms more")


if __name__ == "__main__":
    for label, shape in SHAPES.items():
        compare(label, shape)
    opening()
