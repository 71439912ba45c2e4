"""A store as files that other tools read: npy, npz, HDF5, WebDataset."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import numpy as np

from pipeline.core import MissingToolError, UsageError, fresh_folder, publishing, write_text
from pipeline.store import Store, shard_name, shard_of

ABOUT = "about.json"


def export(store: Store, out: Path, *, form: str) -> int:
    """Write every video of `store` to `out`, a folder (a file for hdf5); the number of videos."""
    if form not in FORMATS:
        raise UsageError(f"there is no format '{form}'; known: {', '.join(FORMATS)}")
    FORMATS[form](store, out)
    return len(store)


def file_stem(video_id: str) -> str:
    """The id as a file name: percent-encoded, and without a dot, which WebDataset takes for the end of the name."""
    return quote(video_id, safe=" ", errors="surrogateescape").replace(".", "%2E")


def hdf5() -> ModuleType:
    try:
        import h5py
    except ImportError as error:
        raise MissingToolError(
            "HDF5 needs the package h5py, which is not installed", hint="pip install 'framescribe[hdf5]'"
        ) from error
    return h5py


def about(store: Store) -> str:
    """JSON in ASCII: an id that is not UTF-8 can be written in escapes only."""
    kept = ("schema", "fingerprint", "row", "outputs", "videos", "failures")
    return json.dumps({name: store.manifest[name] for name in kept}, indent=1, sort_keys=True) + "\n"


def _npy(store: Store, out: Path) -> None:
    """`<tensor>/<id>.npy`, and `rows.<column>/<id>.npy`."""
    with fresh_folder(out, known_by=ABOUT) as temporary:
        for video_id, video in store.items():
            for name, array in video.parts().items():
                (temporary / name).mkdir(exist_ok=True)
                np.save(temporary / name / f"{file_stem(video_id)}.npy", array, allow_pickle=False)
        write_text(temporary / ABOUT, about(store))


def _npz(store: Store, out: Path) -> None:
    """`<id>.npz` with all tensors and `rows.<column>`."""
    with fresh_folder(out, known_by=ABOUT) as temporary:
        for video_id, video in store.items():
            np.savez(temporary / f"{file_stem(video_id)}.npz", allow_pickle=False, **video.parts())
        write_text(temporary / ABOUT, about(store))


def _hdf5(store: Store, out: Path) -> None:
    """One file: `<id>/<tensor>` and `<id>/rows.<column>`; the facts are the file's attribute `about.json`."""
    h5py = hdf5()
    with publishing(out) as temporary, h5py.File(temporary, "w") as file:
        file.attrs[ABOUT] = about(store)
        for video_id, video in store.items():
            for name, array in video.parts().items():
                file.create_dataset(f"{file_stem(video_id)}/{name}", data=array)


def _webdataset(store: Store, out: Path) -> None:
    """Tars named like the shards; a sample is `<id>.<tensor>.npy`, `<id>.rows.npz` and `<id>.json`."""
    members: dict[str, list[str]] = {}
    for video_id in store:
        members.setdefault(shard_name(shard_of(video_id, store.manifest["shard_count"])), []).append(video_id)
    with fresh_folder(out, known_by=ABOUT) as temporary:
        for shard, ids in members.items():
            with tarfile.open(temporary / f"{Path(shard).stem}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
                for name, data in (part for video_id in sorted(ids) for part in _sample(store, video_id)):
                    member = tarfile.TarInfo(name)  # owner and time stay 0: equal stores give equal bytes
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        write_text(temporary / ABOUT, about(store))


def _sample(store: Store, video_id: str) -> Iterator[tuple[str, bytes]]:
    stem, video = file_stem(video_id), store[video_id]
    yield f"{stem}.json", json.dumps({"id": video_id, **store.manifest["videos"][video_id]}).encode()
    for name, array in video.items():
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        yield f"{stem}.{name}.npy", stream.getvalue()
    table = io.BytesIO()
    np.savez(table, allow_pickle=False, **video.rows.columns())
    yield f"{stem}.rows.npz", table.getvalue()


FORMATS: dict[str, Callable[[Store, Path], None]] = {
    "npy": _npy,
    "npz": _npz,
    "hdf5": _hdf5,
    "webdataset": _webdataset,
}
