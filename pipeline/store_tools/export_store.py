"""A store as files that other tools read: npy, npz, HDF5, WebDataset, Parquet, Lance; with a data set card each."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np

from pipeline.core import MissingToolError, UsageError, fresh_folder, publishing, write_text
from pipeline.store import Store, shard_name, shard_of
from pipeline.store_tools import arrow_tables
from pipeline.store_tools.data_card import data_card, videos_by_split
from pipeline.store_tools.export_names import ABOUT, CARD, file_stem

Splits = Mapping[str, Iterable[str]]
Videos = Mapping[str, list[str]]  # of the store, by their split


def export(store: Store, out: Path, *, form: str, splits: Splits | None = None) -> int:
    """Write every video of `store` to `out`, a folder (a file for hdf5); the number of videos."""
    if form not in FORMATS:
        raise UsageError(f"there is no format '{form}'; known: {', '.join(FORMATS)}")
    FORMATS[form](store, out, videos_by_split(store, splits or {}))
    return len(store)


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


@contextmanager
def _folder(store: Store, out: Path, split_videos: Videos, *, form: str) -> Iterator[Path]:
    """What every format that is a folder has beside its data: facts for programs, and a card for people."""
    with fresh_folder(out, known_by=ABOUT) as temporary:
        yield temporary
        write_text(temporary / CARD, data_card(store, form=form, split_videos=split_videos))
        write_text(temporary / ABOUT, about(store))


def _npy(store: Store, out: Path, split_videos: Videos) -> None:
    """`<tensor>/<id>.npy`, and `rows.<column>/<id>.npy`."""
    with _folder(store, out, split_videos, form="npy") as temporary:
        for video_id, video in store.items():
            for name, array in video.parts().items():
                (temporary / name).mkdir(exist_ok=True)
                np.save(temporary / name / f"{file_stem(video_id)}.npy", array, allow_pickle=False)


def _npz(store: Store, out: Path, split_videos: Videos) -> None:
    """`<id>.npz` with all tensors and `rows.<column>`."""
    with _folder(store, out, split_videos, form="npz") as temporary:
        for video_id, video in store.items():
            np.savez(temporary / f"{file_stem(video_id)}.npz", allow_pickle=False, **video.parts())


def _hdf5(store: Store, out: Path, split_videos: Videos) -> None:
    """One file: `<id>/<tensor>` and `<id>/rows.<column>`; the facts and the card are attributes of the file."""
    h5py = hdf5()
    with publishing(out) as temporary, h5py.File(temporary, "w") as file:
        file.attrs[ABOUT] = about(store)
        file.attrs[CARD] = data_card(store, form="hdf5", split_videos=split_videos)
        for video_id, video in store.items():
            for name, array in video.parts().items():
                file.create_dataset(f"{file_stem(video_id)}/{name}", data=array)


def _webdataset(store: Store, out: Path, split_videos: Videos) -> None:
    """Tars named like the shards; a sample is `<id>.<tensor>.npy`, `<id>.rows.npz` and `<id>.json`."""
    with _folder(store, out, split_videos, form="webdataset") as temporary:
        for shard, ids in _by_shard(store, store).items():
            with tarfile.open(temporary / f"{shard}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
                for name, data in (part for video_id in sorted(ids) for part in _sample(store, video_id)):
                    member = tarfile.TarInfo(name)  # owner and time stay 0: equal stores give equal bytes
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def _parquet(store: Store, out: Path, split_videos: Videos) -> None:
    """`data/<split>-<shard>.parquet`, one row a video, as `datasets.load_dataset` finds them by the card."""
    arrow_tables.arrow()
    from pyarrow import parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]

    schema = arrow_tables.empty_table(store).schema
    with _folder(store, out, split_videos, form="parquet") as temporary:
        (temporary / "data").mkdir()
        for split, videos in split_videos.items():
            for shard, ids in _by_shard(store, videos).items():
                with parquet.ParquetWriter(temporary / f"data/{split}-{shard}.parquet", schema) as file:
                    for table in arrow_tables.batches(store, sorted(ids)):
                        file.write_table(table)


def _lance(store: Store, out: Path, split_videos: Videos) -> None:
    """`data.lance`, one row a video; `split` says which it is in."""
    try:
        import lance  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        hint = "pip install 'framescribe[lance]'"
        raise MissingToolError("Lance needs the package pylance, which is not installed", hint=hint) from error
    schema = arrow_tables.lance_table(arrow_tables.empty_table(store), "").schema
    tables = (
        arrow_tables.lance_table(table, split)
        for split, ids in split_videos.items()
        for table in arrow_tables.batches(store, ids)
    )
    records = (batch for table in tables for batch in table.to_batches())
    with _folder(store, out, split_videos, form="lance") as temporary:
        lance.write_dataset(records, str(temporary / "data.lance"), schema=schema)


def _by_shard(store: Store, video_ids: Iterable[str]) -> dict[str, list[str]]:
    """Videos by the name of the shard that they are in."""
    members: dict[str, list[str]] = {}
    for video_id in video_ids:
        name = shard_name(shard_of(video_id, store.manifest["shard_count"]))
        members.setdefault(Path(name).stem, []).append(video_id)
    return members


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


FORMATS: dict[str, Callable[[Store, Path, Videos], None]] = {
    "npy": _npy,
    "npz": _npz,
    "hdf5": _hdf5,
    "webdataset": _webdataset,
    "parquet": _parquet,
    "lance": _lance,
}
