"""The site of docs/: built strictly, with every page in its navigation, nothing from elsewhere, read on a phone."""

from __future__ import annotations

import functools
import html
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browsers import patient, running_browser

mkdocs_build = pytest.importorskip("mkdocs.commands.build", reason="mkdocs is not installed")

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.stem for path in ROOT.glob("docs/*.md"))
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["']?\s*(?:https?:)?//|<link\b[^>]*\bhref=["']?\s*(?:https?:)?//"""
    r"""|url\(["']?\s*(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def build(out: Path, docs: Path = ROOT / "docs") -> Path:
    """With no network: whoever looks for a host fails."""
    from mkdocs.config import load_config

    def no_network(*asked: object) -> None:
        raise AssertionError(f"asked for {asked}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", no_network)
        patch.setattr(socket.socket, "connect", no_network)
        mkdocs_build.build(load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(docs), site_dir=str(out), strict=True))
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def test_every_page_is_in_the_navigation_of_every_page(site: Path) -> None:
    for name in ("index", *PAGES):
        links = re.findall(r'<a class="[^"]*" href="([\w-]+)\.html"', (site / f"{name}.html").read_text())
        assert set(PAGES) - {name} <= set(links)


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    written = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg")]

    assert len(written) > len(PAGES)
    assert {path.name: found for path in written if (found := LOADED.findall(path.read_text()))} == {}


def test_the_check_itself_sees_what_is_loaded() -> None:
    assert LOADED.search('<script async src="https://a.b/c.js">')
    assert LOADED.search('<link rel="stylesheet" href="//fonts.example/css">')
    assert LOADED.search("src: url(https://a.b/font.woff)")
    assert not LOADED.search('<a href="https://a.b/">')


def test_files_outside_the_site_are_named_and_not_linked(site: Path) -> None:
    page = (site / "real-language.html").read_text()

    assert "experiments/language/msvd.yaml" in page
    for path in site.glob("*.html"):
        assert not re.search(r'href="\.\./', path.read_text()), path.name


def test_links_reach_pages_and_headings(site: Path) -> None:
    """As a browser follows them: addresses and ids of what was built."""
    texts = {path.name: path.read_text() for path in site.glob("*.html") if path.name != "404.html"}
    ids = {name: set(map(html.unescape, re.findall(r'\bid="([^"]+)"', text))) for name, text in texts.items()}
    for name, text in texts.items():
        for link in re.findall(r'<a [^>]*href="([^":]*)"', text.split("<footer")[0]):
            page, _, place = html.unescape(link).partition("#")
            target = page or name
            assert (site / target).exists(), (name, link)
            assert not place or place in ids.get(target, ()), (name, link)


def test_a_link_to_nothing_stops_the_build(tmp_path: Path) -> None:
    from mkdocs.exceptions import Abort

    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs/report.md").open("a") as stream:
        stream.write("\n[gone](nowhere.md)\n")

    with pytest.raises(Abort):
        build(tmp_path / "site", tmp_path / "docs")


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *told: object) -> None:
        pass


@pytest.fixture
def tab() -> Iterator[Any]:
    with running_browser() as browser:
        yield patient(browser.new_page(viewport={"width": 320, "height": 640}))


BROKEN_KEYS = """[...document.querySelectorAll("td:first-child code")]
    .filter(code => !/[\\s-]/.test(code.textContent) && code.getClientRects().length > 1)
    .map(code => code.textContent)"""


@pytest.mark.slow
def test_a_phone_reads_every_page_and_the_search_finds_a_word(address: str, tab: Any) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    widths, broken = {}, {}
    for name in ("index", *PAGES):
        tab.goto(f"{address}/{name}.html")
        widths[name] = tab.evaluate("document.documentElement.scrollWidth")
        broken[name] = tab.evaluate(BROKEN_KEYS)
    assert {name: keys for name, keys in broken.items() if keys} == {}
    assert {name: width for name, width in widths.items() if width > 320} == {}

    tab.goto(f"{address}/search.html?q=quarantine")
    tab.wait_for_selector("#mkdocs-search-results article")
    assert "decoding.html" in " ".join(
        link.get_attribute("href") or "" for link in tab.locator("#mkdocs-search-results a").all()
    )
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
