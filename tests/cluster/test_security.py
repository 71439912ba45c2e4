"""Nothing listens outside this machine, and nothing leaves it unencrypted, unless that was asked for."""

from __future__ import annotations

import os
import re
import socket
import ssl
import stat
import time
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest

from pipeline.cli import main
from pipeline.core.command_progress import CommandProgress
from pipeline.core.console import Console
from pipeline.core.errors import InputError, UsageError
from pipeline.core.seen_commands import read_commands
from tests.cluster.conftest import QUIET, Workers
from tests.cluster.sockets import listeners
from tests.dying import runs
from workflows.cluster.certificates import ROLES, make_certificates
from workflows.cluster.executor import DaskExecutor
from workflows.cluster.start import security_of
from workflows.profiles.schema import Node, load_profile

LISTENERS = 4  # at least: the scheduler, its page, and a worker with its nanny


def test_nothing_listens_outside_loopback(workers: Workers, tmp_path: Path) -> None:
    """Scheduler, dashboard, nannies, workers: read from the socket table while they are at work.

    The dashboard's link is told to whoever watches the project.
    """
    told = CommandProgress("extract", tmp_path)
    executor = replace(workers(1, dashboard="127.0.0.1:0"), console=Console(quiet=True, kept=told))
    with told.bar("extract", 3):
        results = executor.map(str, [1, 2, 3])
        next(results)
    (seen,) = read_commands(tmp_path)
    assert seen.links["dask dashboard"].startswith("http://127.0.0.1:")
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = listeners(each.pid for each in family if runs(each))
    assert len(found) >= LISTENERS
    assert [place for place in found if not ip_address(place[0]).is_loopback] == []
    assert sorted(results) == ["2", "3"]


def profile_file(place: Path, **settings: object) -> str:
    path = place / "profile.yaml"
    path.write_text("device: cpu\n" + "".join(f"{key}: {value}\n" for key, value in settings.items()))
    return str(path)


OPEN = [
    {"kind": "scheduler", "address": "tcp://10.0.0.1:8786"},
    {"kind": "scheduler", "address": "tcp://scheduler.example:8786"},
    {"kind": "ssh", "hosts": "[a]", "interface": "eth0"},
    {"kind": "ssh", "hosts": "[a]", "host": "10.0.0.1"},
    {"kind": "queue", "workers": 2, "memory": "1 GiB"},
    {"kind": "node", "workers": 1, "dashboard": "0.0.0.0:8787"},
    {"kind": "node", "workers": 1, "dashboard": "':8787'"},
]


@pytest.mark.parametrize("settings", OPEN)
def test_what_leaves_this_machine_is_encrypted_or_refused(settings: dict[str, object], tmp_path: Path) -> None:
    path = profile_file(tmp_path, **settings)
    with pytest.raises(UsageError, match="--insecure"):
        load_profile(path)
    assert load_profile(path, insecure=True).insecure  # type: ignore[union-attr]


def test_a_tls_address_needs_certificates(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="certificates"):
        load_profile(profile_file(tmp_path, kind="scheduler", address="tls://10.0.0.1:8786"))
    path = profile_file(tmp_path, kind="scheduler", address="tls://10.0.0.1:8786", certificates="nowhere")
    with pytest.raises(InputError, match=r"nowhere/ca\.pem"):
        security_of(load_profile(path))  # type: ignore[arg-type]


def test_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "certs", "--out", "certs", "--host", "node1", "--host", "10.0.0.1"]) == 0
    shown = capsys.readouterr()
    keys = sorted(Path("certs").glob("*-key.pem"))
    assert [path.name for path in keys] == sorted(f"{role}-key.pem" for role in (*ROLES, "ca"))
    for key in keys:
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key.read_text().splitlines()[1] not in shown.out + shown.err
    assert main(["cluster", "certs"]) == 2  # they may be in use
    assert main(["cluster", "certs", "--out", "certs/ca.pem"]) == 2  # a file
    assert main(["cluster", "certs", "--out", "new", "--days", "0"]) == 2
    assert main(["cluster", "certs", "--out", "new", "--days", "9999999"]) == 2
    assert main(["cluster", "certs", "--out", "new", "--host", "m\u00fcnchen"]) == 2
    assert not Path("new").exists()
    assert shakes_hands("certs", "certs")
    make_certificates(tmp_path / "others")
    assert not shakes_hands("certs", "others")


def shakes_hands(server: str, client: str) -> bool:
    """Whether a scheduler of one folder and a client of another trust each other, as dask's own TLS has it."""
    purposes = {"scheduler": ssl.Purpose.CLIENT_AUTH, "client": ssl.Purpose.SERVER_AUTH}
    sides = []
    for place, role in ((Path(server), "scheduler"), (Path(client), "client")):
        context = ssl.create_default_context(purposes[role], cafile=str(place / "ca.pem"))
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as it is from Python 3.13 on
        context.load_cert_chain(place / f"{role}.pem", place / f"{role}-key.pem")
        sides.append(context)
    return _handshake(*sides)


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """In memory, turn by turn."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_side=False),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    done = [False, False]
    for turn in range(10):
        end = turn % 2
        try:
            ends[end].do_handshake()
            done[end] = True
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError:
            return False
    return all(done)


def test_check_says_what_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker that was forked here is fit, and the check leaves nothing behind."""
    path = profile_file(tmp_path, kind="node", workers=1, dashboard="null")
    assert main(["cluster", "check", "--profile", path]) == 0
    assert "1 workers, all fit" in capsys.readouterr().out
    assert list(Path(os.environ["FRAMESCRIBE_CACHE"], "checks").iterdir()) == []
    assert main(["cluster", "check", "--profile", "laptop"]) == 2


def test_check_asks_all_workers_of_a_profile_that_starts_with_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = profile_file(tmp_path, kind="node", workers=2, at_least=0, dashboard="null")
    assert main(["cluster", "check", "--profile", path]) == 0
    assert "2 workers, all fit" in capsys.readouterr().out


def test_a_worker_without_the_folder_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = profile_file(tmp_path, kind="node", workers=1, dashboard="null", folder=tmp_path / "nowhere")
    assert main(["cluster", "check", "--profile", path]) == 9
    assert f"has no folder {tmp_path}/nowhere: No such file" in capsys.readouterr().err
    with pytest.raises(InputError, match=rf"has no folder {tmp_path}/nowhere"):
        list(DaskExecutor(load_profile(path), QUIET).map(str, [1]))  # type: ignore[arg-type]


SECRET = "open-sesame-0123456789"  # noqa: S105 - of nothing
PAGES = ("info/main/workers.html", "info/main/logs.html", "info/main/exceptions.html", "json/identity.json", "metrics")


def read_page(link: str) -> str:
    """dask's table of workers fails until each has told of itself once more after it came."""
    end = time.monotonic() + 120
    while True:
        try:
            return str(urlopen(link, timeout=60).read().decode())  # noqa: S310 - of this machine
        except HTTPError as error:
            if error.code != 500 or time.monotonic() > end:
                raise
            time.sleep(0.1)


def test_no_secret_is_shown_or_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what the environment holds nor a key of the throw-away certificates: output, dashboard, logs, report."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    settings = {"workers": 1, "device": "cpu", "performance_report": Path("page.html")}
    results = DaskExecutor(Node.model_validate({"kind": "node", **settings}), Console()).map(str, range(3))
    next(results)
    told = capsys.readouterr().out
    (link,) = re.findall(r"dashboard: (http://127\.0\.0\.1:\d+/)status", told)
    shown = [read_page(link + page) for page in PAGES]
    assert len(list(results)) == 2
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) >= 2
    for text in [told, *shown, *kept]:
        assert SECRET not in text
        assert "PRIVATE KEY" not in text


def test_check_sees_a_worker_in_another_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths mean something else there: nothing it writes would be seen here."""
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    (tmp_path / "elsewhere").mkdir()
    path = profile_file(tmp_path, kind="node", workers=1, dashboard="null", folder=tmp_path / "elsewhere")
    assert main(["cluster", "check", "--profile", path]) == 9
    assert "does not see this project's folder" in capsys.readouterr().err


def test_an_open_port_is_found(tmp_path: Path) -> None:
    """The check above must be able to fail."""
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - on purpose
        assert ("0.0.0.0", server.getsockname()[1]) in listeners([os.getpid()])  # noqa: S104
