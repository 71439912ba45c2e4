"""An object store on this machine, spoken to by the same client as a real one; a cache of its own for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.store.making import add_toy_family, write_clips

SECRET = "open-sesame-0123456789"  # noqa: S105 - of a store that ends with the tests


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "reader",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in settings.items():
            patched.setenv(name, value)
        yield settings["AWS_ENDPOINT_URL"]
    running.stop()


@pytest.fixture
def bucket(server: str) -> str:
    """`s3://<an empty bucket>`."""
    import fsspec

    name = f"bucket-{uuid4().hex[:12]}"
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}"


@pytest.fixture
def new_clients(bucket: str) -> Iterator[None]:
    """A client keeps the environment that it was made in; this test changes it."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_toy_family()
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FRAMESCRIBE_CACHE_URL", raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clips and a sidecar."""
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder, 3)
    (folder / "notes.txt").write_text("not a video")
    return folder


def upload(folder: Path, url: str) -> None:
    import fsspec

    files, path = fsspec.core.url_to_fs(url)
    for file in sorted(folder.iterdir()):
        files.put_file(str(file), f"{path}/{file.name}")
