"""Who may ask the server, by what name and from which page; the rest is refused and the server still answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.serving import Served, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("project")) as each:
        each.enter()
        yield each


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
    from urllib.parse import quote

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


def test_the_cookie_is_strict(tmp_path: Path) -> None:
    with serving(tmp_path) as fresh:
        told = fresh.ask(fresh.link.removeprefix(fresh.address)).headers["set-cookie"].lower()

    assert "httponly" in told
    assert "samesite=strict" in told


@pytest.mark.parametrize("name", ["../access.py", "..%2faccess.py", "%2e%2e/access.py", "/etc/passwd", "access.py"])
def test_no_path_leads_out(server: Served, name: str) -> None:
    answer = server.ask(f"/static/{name}")

    assert answer.status in (403, 404)
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


def test_it_stops_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.enter()
        assert list((tmp_path / ".cache/framescribe/live").iterdir())

    assert served.process.returncode == 0
    assert [path for path in tmp_path.rglob("*") if path.is_file() or path.name == "live"] == []
