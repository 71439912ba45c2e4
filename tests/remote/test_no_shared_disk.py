"""A cluster whose workers see nothing of the run's folder: videos, index and results travel through a bucket alone."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.console import Console
from pipeline.core.executors import InProcess
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.params.decode import Decode
from pipeline.remote.shared import VARIABLE
from tests.containers.processes import free_port, running
from tests.remote.conftest import upload
from tests.store.making import QUIET, KnowingToy, content, toy
from workflows.cluster.certificates import make_certificates
from workflows.cluster.executor import DaskExecutor
from workflows.profiles.schema import Existing

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class KnowingToyThere:
    """The executor, for a family that the workers have to be told about."""

    executor: DaskExecutor

    def map(self, work: Any, items: Any) -> Iterator[Any]:
        return self.executor.map(KnowingToy(work), items)


@pytest.fixture
def cluster(bucket: str, tmp_path: Path) -> Iterator[Existing]:
    """A scheduler, and two workers in a folder of their own."""
    certificates, there, port = tmp_path / "certs", tmp_path / "there", free_port()
    make_certificates(certificates)
    there.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("FRAMESCRIBE_CACHE", None)
    dask = str(Path(sys.executable).with_name("dask"))

    def tls(role: str) -> list[str]:
        key, certificate = certificates / f"{role}-key.pem", certificates / f"{role}.pem"
        return ["--tls-ca-file", f"{certificates}/ca.pem", "--tls-cert", str(certificate), "--tls-key", str(key)]

    where = ["--host", "127.0.0.1"]
    scheduler = [
        dask,
        "scheduler",
        *where,
        "--protocol",
        "tls",
        "--port",
        str(port),
        "--no-dashboard",
        *tls("scheduler"),
    ]
    worker = [dask, "worker", f"tls://127.0.0.1:{port}", *where, "--nthreads", "1", "--nworkers", "2", "--no-dashboard"]
    with ExitStack() as stack:
        stack.enter_context(running(scheduler, env=environment, log=tmp_path / "scheduler.log"))
        limits = ["--memory-limit", "0", "--local-directory", str(there)]
        stack.enter_context(running([*worker, *limits, *tls("worker")], env=environment, log=tmp_path / "worker.log"))
        yield Existing(
            kind="scheduler",
            address=f"tls://127.0.0.1:{port}",
            certificates=certificates,
            device="cpu",
            folder=there,
            logs=None,
            patience=600,
        )


@pytest.mark.slow
def test_the_store_is_the_same_and_nothing_was_shared_but_the_bucket(
    bucket: str, clips: Path, cluster: Existing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(clips, f"{bucket}/clips")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("FRAMESCRIBE_CACHE")  # relative: each machine has its own
    monkeypatch.setenv(VARIABLE, f"{bucket}/cache")
    executor = KnowingToyThere(DaskExecutor(cluster, console=Console(quiet=True)))
    index, out = Path("index"), Path("toy")
    decode.decode_videos(videos=f"{bucket}/clips", out=index, params=Decode(), executor=executor, console=QUIET)
    done = extract.extract_features(
        {"toy": toy()}, index=index, outs={"toy": out}, executor=executor, device="cpu", console=QUIET
    )
    assert (done["videos"], done["failed"]) == (3, 0)
    assert not (tmp_path / "here/.cache/framescribe/spool").exists(), "no video came here"
    assert (tmp_path / "there/.cache/framescribe/features").is_dir()
    assert not (tmp_path / "there/index").exists()

    monkeypatch.delenv(VARIABLE)
    shutil.rmtree(".cache")
    decode.decode_videos(videos=clips, out=Path("near"), params=Decode(), console=QUIET)
    extract.extract_features(
        {"toy": toy()},
        index=Path("near"),
        outs={"toy": Path("alone")},
        executor=InProcess(),
        device="cpu",
        console=QUIET,
    )
    assert content(out) == content(Path("alone"))
