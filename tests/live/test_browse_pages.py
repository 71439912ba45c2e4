"""The pages that look into a project, asked as a script would: what they hold, how much, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browsing.made_project import SCRIPT, write_toy_store
from tests.live.browsed import PAGES, build_browsed
from tests.live.serving import Served, serving

HTML = {"Accept": "text/html"}
ODD = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "..%2f..%2fparams.yaml",
    "toy/../toy",
    "\0",
    "\udcff\udcfe",
    SCRIPT,
    "x" * 4000,
    "{{ 7 * 7 }}",
)


@pytest.fixture(scope="module")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("browsed")
    build_browsed(root)
    with serving(root, FRAMESCRIBE_CACHE=str(root / "cache")) as served:
        served.enter()
        yield served


def page_of(served: Served, path: str) -> str:
    answer = served.ask(path, headers=HTML)
    assert answer.status == 200, answer.body
    return answer.body.decode()


def untimed(html: str) -> str:
    """Without the ages, which may be a second more when the part is asked for, and without indentation."""
    return re.sub(r"\d+:\d\d", "-:--", re.sub(r"\n +", "\n", html))


def test_where_no_run_can_caption_nothing_is_asked_for(browsed: Served) -> None:
    html = page_of(browsed, "/caption")

    assert 'role="alert"' in html
    assert "<form" not in html


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_there_and_no_text_of_others_is_markup(browsed: Served, name: str) -> None:
    html = page_of(browsed, PAGES[name])

    assert "<h1>" in html
    assert SCRIPT not in html
    assert 'href="javascript:' not in html
    assert "style=" not in html  # which the policy would not let through


def test_stores_lead_to_videos_and_these_to_rows(browsed: Served) -> None:
    assert "/browse/videos?store=toy" in page_of(browsed, "/browse")
    assert "/browse/rows?store=toy&amp;video=video029" in page_of(browsed, "/browse/videos?store=toy&q=29")
    failed = page_of(browsed, "/browse/videos?store=toy&state=failed")
    assert "crash: the decoder died" in failed
    assert "&lt;script&gt;" in failed
    rows = page_of(browsed, PAGES["rows"])
    assert rows.count("<rect") == 6
    assert "random weights" in rows  # an untrained network is called untrained
    assert "a woman cooks in the park" in rows
    assert "crash: the decoder died" in page_of(browsed, PAGES["failed"])


def test_the_nearest_are_a_part_of_the_page(browsed: Served) -> None:
    part = re.search(r'data-part="([^"]+)"', page_of(browsed, PAGES["rows"]))
    assert part
    nearest = page_of(browsed, part[1].replace("&amp;", "&"))

    assert re.findall(r">(video\d+)</a>", nearest)[:2] == ["video002", "video004"]


def test_a_video_of_the_index_is_played_in_ranges(browsed: Served) -> None:
    assert "/browse/player?video=video003" in page_of(browsed, PAGES["rows"])
    answer = browsed.ask("/browse/player?video=video003", headers={"Range": "bytes=4-7"})

    assert (answer.status, answer.body, answer.headers["content-type"]) == (206, b"ftyp", "video/mp4")


def test_search_finds_and_narrows(browsed: Served) -> None:
    assert "1 to 10 of 10 clips" in page_of(browsed, "/search?q=cat")
    assert "1 to 5 of 5 clips" in page_of(browsed, "/search?q=cat&by=people")
    assert "1 to 20 of 30 clips" in page_of(browsed, "/search?by=anyone")
    assert "no clips" in page_of(browsed, "/search?q=%3Cscript%3Ecat")


def test_two_runs_are_compared_as_the_command_does(browsed: Served) -> None:
    html = page_of(browsed, PAGES["compare"])

    assert "better by CIDEr-D: a" in html
    assert "-3.1054" in html
    assert html.count("<article") == 20
    assert "1 to 15 of 15 clips" in page_of(browsed, "/compare?first=a&second=b&slice=long&by=first")


def test_a_run_without_what_a_comparison_needs_is_told(browsed: Served) -> None:
    answer = browsed.ask("/compare?first=a&second=attention", headers=HTML)

    assert answer.status == 409
    assert b"evaluation/attention.json has no per-video counts" in answer.body


def test_what_runs_and_what_the_workers_wrote(browsed: Served) -> None:
    html = page_of(browsed, "/watch")

    assert "done items clip1" in html
    assert "3 of 10" in html
    assert "logs" in page_of(browsed, "/watch/disk")
    assert untimed(page_of(browsed, "/watch/commands")).strip() in untimed(html)


def test_looking_loads_no_network(browsed: Served) -> None:
    """Half a gigabyte of libraries, and seconds before the link is there: only the process of a clip has them."""
    for path in ("/caption", *PAGES.values()):
        page_of(browsed, path)

    assert "libtorch" not in Path(f"/proc/{browsed.process.pid}/maps").read_text()


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize(
    "path",
    [
        "/browse/videos?store={}",
        "/browse/rows?store={}&video=video003",
        "/browse/rows?store=toy&video={}",
        "/browse/nearest?store=toy&video=video003&output={}",
        "/browse/player?video={}",
        "/compare?first={}&second=b",
        "/compare/vote?first={}&second=b&clips=1",
        "/compare/vote/page?first={}",
        "/compare/vote/save/key?first={}",
        "/watch?log={}",
        "/watch/log?log={}",
    ],
)
def test_a_name_that_is_in_no_list_is_refused(browsed: Served, path: str, odd: str) -> None:
    asked = path.format(quote(odd, safe="", errors="surrogateescape"))
    if odd == SCRIPT and path.startswith("/browse/rows?store=toy"):
        return  # that one is there: it failed
    for accept in ("text/html", "application/json"):
        answer = browsed.ask(asked, headers={"Accept": accept})
        assert answer.status in (400, 404, 409), answer.body
        assert b"root:" not in answer.body
        assert SCRIPT.encode() not in answer.body or accept == "application/json"
        assert len(answer.body) < 12_000


@pytest.mark.parametrize("number", ["-1", "0", "9" * 4000, "1e9", "٣", "nan", "%00", ""])
@pytest.mark.parametrize(
    "path",
    [
        "/browse/videos?store=toy&page={}",
        "/browse/rows?store=toy&video=video003&row={}&page={}",
        "/search?page={}",
        "/compare?first=a&second=b&page={}",
    ],
)
def test_any_number_is_a_page(browsed: Served, path: str, number: str) -> None:
    answer = browsed.ask(path.format(*[quote(number, safe="%")] * 2), headers=HTML)

    assert answer.status == 200, answer.body
    assert len(answer.body) < 60_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{}", 400),
        (b"[" * 200_000, 400),
        (b"[1]", 400),
        (b'["no votes"]', 409),
        (b'["' + b"x" * 3_000_000 + b'"]', 413),
    ],
    ids=["nothing", "object", "deep", "number", "text", "large"],
)
def test_votes_that_are_none_are_told(browsed: Served, body: bytes, status: int) -> None:
    made = browsed.ask("/compare/vote/make?first=a&second=b&clips=1", method="POST", body=b"")
    assert made.status == 303, made.body
    answer = browsed.ask(made.headers["location"].replace("/vote?", "/vote/count?"), method="POST", body=body)

    assert answer.status == status, answer.body
    assert answer.json()["error"] if status != 413 else b"more than" in answer.body


def test_a_vote_page_has_its_own_policy_and_a_key_that_is_saved(browsed: Served) -> None:
    made = browsed.ask("/compare/vote/make?first=a&second=b&clips=2", method="POST", body=b"")
    query = made.headers["location"].partition("?")[2]
    page, key = (browsed.ask(f"/compare/vote/{name}?{query}") for name in ("page", "save/key"))

    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "'sha256-" in page.headers["content-security-policy"]
    assert b"video00" not in page.body
    assert len(key.json()["pairs"]) == 2
    assert key.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("path", ["/compare/vote/make?first=a&second=b", "/compare/vote/count"])
def test_a_vote_is_made_by_our_own_pages_alone(browsed: Served, path: str) -> None:
    for origin in (None, "http://evil.example", "null"):
        assert browsed.ask(path, method="POST", body=b"", headers={"Origin": origin}).status == 403
    assert browsed.ask(path.partition("?")[0] if "count" in path else path, headers=HTML).status == 405


def test_a_file_that_the_disk_does_not_give_is_told(browsed: Served, tmp_path: Path) -> None:
    """Reading the memory of a process at its address 0 is an error of input, as of a broken disk."""
    (tmp_path / "params.yaml").symlink_to("/proc/self/mem")
    with serving(tmp_path, FRAMESCRIBE_CACHE=str(tmp_path / "cache")) as served:
        served.enter()
        page, answer = (served.ask("/caption", headers=headers) for headers in (HTML, {}))
        assert browsed.ask("/browse").status == 200

    assert (page.status, answer.status) == (500, 500)
    assert "Input/output error" in answer.json()["error"]
    assert b"<h1>That did not work" in page.body


@pytest.mark.slow
def test_of_ten_thousand_videos_every_page_is_small(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").touch()
    write_toy_store(tmp_path / "features/large", videos=10_000, rows=4)
    with serving(tmp_path, FRAMESCRIBE_CACHE=str(tmp_path / "cache")) as served:
        served.enter()
        first = page_of(served, "/browse/videos?store=large")
        last = page_of(served, f"/browse/videos?store=large&page={'9' * 30}")
        rows = page_of(served, "/browse/rows?store=large&video=video5000&row=1")
        nearest = page_of(served, "/browse/nearest?store=large&video=video5000&output=pool&row=1")

    assert "1 to 50 of 10001 videos" in first
    assert "page 201 of 201" in last
    assert all(len(html) < 16_000 for html in (first, last, rows, nearest))
    assert nearest.count("<li>") == 12
