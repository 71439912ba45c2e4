"""Nothing listens outside this machine, and nothing leaves it unencrypted, unless that was asked for."""

from __future__ import annotations

import os
import socket
import ssl
import stat
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from pipeline.cli import main
from pipeline.errors import InputError, UsageError
from tests.cluster.conftest import Workers
from tests.cluster.sockets import listeners
from workflows.certificates import ROLES, make_certificates
from workflows.clusters import security_of
from workflows.profiles import load_profile

LISTENERS = 4  # at least: the scheduler, its page, and a worker with its nanny


def test_nothing_listens_outside_loopback(workers: Workers) -> None:
    """Scheduler, dashboard, nannies, workers: read from the socket table while they are at work."""
    results = workers(1, dashboard="127.0.0.1:0").map(str, [1, 2, 3])
    next(results)
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = listeners(each.pid for each in family if each.status() != psutil.STATUS_ZOMBIE)
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
