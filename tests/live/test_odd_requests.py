"""Requests that no browser sends, while a clip is computed: each has an answer, and so has the next."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests import clips
from tests.live.serving import Served, begun_and_held, go_on, uploaded, waited

pytestmark = pytest.mark.slow

UPLOAD = "/caption/uploads?run=first&name=x"


@pytest.fixture(scope="module")
def computing(captioning: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a clip that stands still in the middle; it is done in the end."""
    clip = clips.write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4").read_bytes()
    address, held = begun_and_held(captioning, lambda: uploaded(captioning, clip))
    yield address
    go_on(held)
    assert waited(captioning, address)["state"] == "done"


@pytest.fixture(autouse=True)
def still_answers(captioning: Served, computing: str) -> Iterator[None]:
    yield
    assert captioning.ask("/caption").status == 200
    assert captioning.ask(f"{computing}/state").json()["state"] in ("waiting", "running")


def connected(served: Served) -> socket.socket:
    host, port = served.host.split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def own(served: Served) -> str:
    return f"Host: {served.host}\r\nCookie: {served.cookie}\r\nOrigin: {served.address}\r\n"


def status_of(served: Served, text: str) -> int:
    with connected(served) as connection:
        connection.sendall(text.encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    "length",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 3",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length: 0x5",
        "Content-Length: \xb2",
        "Content-Length: " + "9" * 5000,
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
    ],
)
def test_a_request_has_one_length(captioning: Served, length: str) -> None:
    """What stands behind it is read as no request of its own."""
    hidden = f"GET /watch HTTP/1.1\r\n{own(captioning)}\r\n"
    sent = f"PUT {UPLOAD} HTTP/1.1\r\n{own(captioning)}{length}\r\n\r\n0\r\n\r\n{hidden}"
    with connected(captioning) as connection:
        connection.sendall(sent.encode("latin-1"))
        answer = connection.makefile("rb").read()

    assert b" 400 " in answer.splitlines()[0]
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "body",
    [
        "[" * 60_000,
        '{"a":' * 12_000,
        '{"video": "red", "runs": ["\\ud800"]}',
        '{"video": "\\ud800", "runs": ["first"]}',
    ],
    ids=["deep", "deep-object", "run", "video"],
)
@pytest.mark.parametrize("path", ["/caption/jobs", "/compare/vote/count?first=a&second=b"])
def test_no_json_breaks_the_answer(captioning: Served, path: str, body: str) -> None:
    answer = captioning.ask(path, method="POST", body=body.encode())

    assert 400 <= answer.status < 500, answer.body
    assert json.loads(answer.body)["error"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=-0", 416),
        ("bytes=5-2", 400),
        ("bytes=99999999-", 416),
        ("bytes=0-" + "9" * 4000, 206),
        ("bytes=" + "9" * 5000 + "-", 400),
        ("bytes=" + ",".join(["0-"] * 1000), 200),
        ("bytes=" + ",".join(f"{place}-{place}" for place in range(0, 4000, 2)), 200),
        ("bytes=\xb2-\xb3", 400),
        ("lines=0-5", 400),
    ],
)
def test_ranges_give_no_more_than_the_file(captioning: Served, computing: str, asked: str, status: int) -> None:
    answer = captioning.ask(f"{computing}/video", headers={"Range": asked})
    whole = captioning.ask(f"{computing}/video").body

    assert answer.status == status
    assert len(answer.body) <= len(whole)


@pytest.mark.parametrize("kind", ["websocket", "h2c"])
def test_no_connection_becomes_another(captioning: Served, kind: str) -> None:
    key = "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n"
    upgrade = f"Connection: Upgrade\r\nUpgrade: {kind}\r\n{key}"

    assert status_of(captioning, f"GET /caption HTTP/1.1\r\n{own(captioning)}{upgrade}\r\n") == 200
    assert status_of(captioning, f"GET /caption HTTP/1.1\r\nHost: {captioning.host}\r\n{upgrade}\r\n") == 401


@pytest.mark.parametrize(
    "host", ["127.0.0.1.nip.io:{}", "localhost.:{}", "127.1:{}", "2130706433:{}", "[::1]:{}", "0.0.0.0:{}", "", "x, {}"]
)
def test_another_name_of_this_machine_is_refused(captioning: Served, host: str) -> None:
    told = {"Host": host.format(captioning.host.split(":")[1]), "Origin": None}

    assert captioning.ask("/caption", headers=told).status in (400, 403)


@pytest.mark.parametrize(
    "both", ["Origin: {}\r\nOrigin: http://evil.example", "Origin: http://evil.example\r\nOrigin: {}"]
)
def test_a_second_origin_opens_nothing(captioning: Served, both: str) -> None:
    told = f"Host: {captioning.host}\r\nCookie: {captioning.cookie}\r\n{both.format(captioning.address)}\r\n"

    assert status_of(captioning, f"POST /caption/jobs HTTP/1.1\r\n{told}Content-Length: 2\r\n\r\n{{}}") == 403


@pytest.mark.parametrize("cookie", ["framescribe-1={}", "{0}; {1}=x", "{1}=é", "a=b; " * 5000], ids=str)
def test_another_cookie_opens_nothing(captioning: Served, cookie: str) -> None:
    name, _, secret = captioning.cookie.partition("=")
    given = cookie.format(secret, name)

    assert captioning.ask("/caption", headers={"Cookie": given.encode("latin-1")}).status == 401


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/caption/../../etc/passwd", "/static/%c0%ae%c0%ae/x", "/caption%00"]
)
def test_no_spelling_of_a_path_leads_out(captioning: Served, path: str) -> None:
    assert captioning.ask(path).status == 404


def test_clients_that_take_no_answer_make_room(captioning: Served) -> None:
    """With the cookie, more than there may be connections; the ones that do not move give way to who comes."""
    slow = [connected(captioning) for _ in range(300)]
    for each in slow:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        try:
            each.sendall(f"GET /static/views.js HTTP/1.1\r\n{own(captioning)}\r\n".encode() * 100)
        except OSError:
            continue  # it gave way already
    try:
        assert [captioning.ask("/caption").status for _ in range(20)] == [200] * 20
    finally:
        for each in slow:
            each.close()
