"""Who may ask the server, by what name and from which page; the rest is refused and the server still answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from pipeline.cli import main
from tests.live.serving import Served, serving

EVERYWHERE = "0.0.0.0"  # noqa: S104 - with a certificate, or refused


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    with serving(folder) as each:
        each.enter()
        yield each
    assert each.process.returncode == 0
    assert [path for path in folder.rglob("*") if path.is_file() or path.name == "live"] == []


@pytest.fixture(autouse=True)
def still_answers(server: Served) -> Iterator[None]:
    yield
    assert server.ask("/caption").status == 200


def test_the_link_opens_once(server: Served) -> None:
    answer = server.ask(server.link.removeprefix(server.address), headers={"Cookie": ""})

    assert answer.status == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 5000])
def test_a_wrong_token_opens_nothing(server: Served, token: str) -> None:
    answer = server.ask(f"/enter?token={quote(token)}", headers={"Cookie": ""})

    assert answer.status == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/caption", "/static/style.css", "/nothing"])
def test_without_the_cookie_nothing_is_told(server: Served, path: str) -> None:
    none, wrong = (server.ask(path, headers={"Cookie": each}) for each in ("", server.cookie[:-1] + "~"))

    assert none.status == wrong.status == 401
    assert none.body == wrong.body == server.ask("/other", headers={"Cookie": ""}).body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"])
def test_another_name_is_refused(server: Served, host: str) -> None:
    """A page whose name its owner points here reads what its browser fetches, unless the name is looked at."""
    assert server.ask("/caption", headers={"Host": host, "Origin": f"http://{host}"}).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_another_page_is_refused(server: Served, origin: str, method: str) -> None:
    assert server.ask("/caption", method=method, headers={"Origin": origin}).status == 403


def test_what_changes_something_must_name_its_page(server: Served) -> None:
    assert server.ask("/caption", method="POST", headers={"Origin": None}).status == 403


def test_a_page_of_another_port_reads_nothing(server: Served) -> None:
    """Ports of one host are one site, so the browser sends the strict cookie along."""
    fetched = {"Origin": None, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}
    followed = fetched | {"Sec-Fetch-Mode": "navigate"}

    assert server.ask("/caption", headers=fetched).status == 403
    assert server.ask("/caption", headers=followed).status == 200


def test_every_answer_has_the_policy(server: Served) -> None:
    for path, headers in (("/caption", {}), ("/nothing", {}), ("/static/live.css", {}), ("/", {"Cookie": ""})):
        told = server.ask(path, headers=headers).headers
        assert "default-src 'none'" in told["content-security-policy"]
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert "unsafe" not in told["content-security-policy"]
        assert told["x-content-type-options"] == "nosniff"


def test_the_cookie_is_strict(server: Served) -> None:
    told = server.cookie_told.lower()

    assert "httponly" in told
    assert "samesite=strict" in told


@pytest.mark.parametrize("name", ["../access.py", "..%2faccess.py", "%2e%2e/access.py", "/etc/passwd", "access.py"])
def test_no_path_leads_out(server: Served, name: str) -> None:
    answer = server.ask(f"/static/{name}")

    assert answer.status in (403, 404)
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


def test_a_port_that_is_taken_is_told(server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", server.host.split(":")[1]]) == 3
    assert "cannot be listened on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", EVERYWHERE], "unencrypted"),
        (["--host", "example.org"], "takes an address"),
        (["--certificate", "x.pem"], "come together"),
        (["--json"], "would hide it"),
    ],
)
def test_what_would_not_be_safe_does_not_start(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *options]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_another_address_is_encrypted(tmp_path: Path) -> None:
    """Everything as before, under its name alone, with a cookie that never travels in the clear."""
    pytest.importorskip("cryptography")
    certificates = tmp_path / "certs"
    assert main(["cluster", "certs", "--out", str(certificates), "--quiet"]) == 0
    files = ["--certificate", str(certificates / "scheduler.pem"), "--key", str(certificates / "scheduler-key.pem")]
    with serving(tmp_path, "--host", EVERYWHERE, "--name", "localhost", *files) as served:
        assert served.address.startswith("https://localhost:")
        served.enter()
        answer = served.ask("/caption")
        other = served.ask("/caption", headers={"Host": served.host.replace("localhost", "127.0.0.1")})

    assert (answer.status, other.status) == (200, 403)
    assert "secure" in served.cookie_told.lower()


@pytest.mark.slow
def test_headers_that_drip_are_given_up(server: Served) -> None:
    """A byte a second keeps a connection busy, and only for so long."""
    host, port = server.host.split(":")
    with socket.create_connection((host, int(port))) as dripping:
        dripping.settimeout(1)
        last = time.monotonic() + 120
        while is_open(dripping):
            assert time.monotonic() < last


@pytest.mark.slow
def test_whoever_goes_on_sending_what_was_refused_reads_why_and_is_closed(server: Served) -> None:
    """Closed at once, the answer would be lost on its way: a client that still sends has not read it."""
    host, port = server.host.split(":")
    own = f"Host: {server.host}\r\nCookie: {server.cookie}\r\nOrigin: {server.address}\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as sending:
        sending.sendall(f"POST /compare/vote/count HTTP/1.1\r\n{own}Content-Length: {10**15}\r\n\r\n".encode())
        sending.sendall(bytes(100_000))
        assert b" 413 " in sending.recv(4000)
        with pytest.raises(ConnectionError):
            send_for(120, sending)


def send_for(seconds: float, connection: socket.socket) -> None:
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        connection.sendall(bytes(100_000))


def is_open(connection: socket.socket) -> bool:
    """After a byte more, and a second for the answer."""
    try:
        connection.sendall(b"G")
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False
