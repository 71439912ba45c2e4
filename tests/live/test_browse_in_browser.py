"""The pages that look into a project, in a real browser: keys alone, a phone, the dark, a vote, a command that dies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import shard_name, shard_of
from tests.imports import ROOT
from tests.live.browsed import PAGES, build_browsed
from tests.live.serving import Served, serving

pytestmark = pytest.mark.slow

WORK = """
import sys
from pipeline.core import Console, told_progress
with told_progress("extract") as kept, Console(quiet=True, kept=kept).progress("extract deep", 10) as progress:
    kept.link("dask dashboard", "http://127.0.0.1:1/")
    progress.advance(4)
    print("working", flush=True)
    sys.stdin.readline()
    progress.advance(3)
    sys.stdin.read()
"""
SHIFTS = """
() => new Promise((told) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((each) => { sum += each.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => told(sum), 300);
})
"""
NAMELESS = """
() => [...document.querySelectorAll(
    "input:not([type=hidden]), select, button, progress, [role=region], svg[role=img], video")]
  .filter((node) => {
    const labelled = node.getAttribute("aria-labelledby");
    const named = labelled ? document.getElementById(labelled)?.textContent.trim() : node.getAttribute("aria-label");
    return !(named || node.labels?.length || node.textContent.trim());
  }).map((node) => node.outerHTML.slice(0, 80))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("browsed")
    build_browsed(root)
    return root


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[Served]:
    with serving(root, FRAMESCRIBE_CACHE=str(root / "cache")) as each:
        yield each


@pytest.fixture(scope="module")
def tab(served: Served, browser: Any) -> Iterator[Any]:
    """A page that has entered; `problems` is what the browser complains of."""
    context = browser.new_context(viewport={"width": 1100, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.goto(served.link)
    page.wait_for_url("**/caption")
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    yield page
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_on_a_phone_in_the_dark_keeps_still_and_has_names(served: Served, tab: Any, name: str) -> None:
    tab.problems.clear()
    tab.set_viewport_size({"width": 320, "height": 700})
    tab.emulate_media(color_scheme="dark")
    tab.goto(served.address + PAGES[name], wait_until="networkidle")

    assert tab.evaluate("document.documentElement.scrollWidth") <= 320
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    assert tab.evaluate(SHIFTS) < 0.02
    assert tab.evaluate(NAMELESS) == []
    assert tab.title() != "taken"
    assert tab.problems == []
    tab.emulate_media(color_scheme="light")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 245, 242)"
    tab.set_viewport_size({"width": 1100, "height": 800})


def test_from_the_stores_to_a_neighbour_by_keys_alone(served: Served, tab: Any) -> None:
    tab.goto(served.address + "/browse")
    press_to(tab, "toy")
    tab.wait_for_url("**/browse/videos?store=toy")
    press_to(tab, "video003")
    tab.wait_for_url("**/browse/rows?**")
    tab.wait_for_selector(".neighbours a")
    press_to(tab, "video002")
    tab.wait_for_url("**video=video002**")

    assert tab.locator("h1").inner_text() == "video002"
    assert tab.locator("tr[aria-current=true] th").inner_text() == "5"  # its row that is nearest


def press_to(tab: Any, text: str) -> None:
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == text:
            assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return tab.keyboard.press("Enter")
    raise AssertionError(f"no way to '{text}' by keys")


def test_of_a_damaged_store_the_reason_is_told_in_its_place(served: Served, tab: Any, root: Path) -> None:
    hurt = root / "features/hurt"
    shutil.copytree(root / "features/toy", hurt)
    own = shard_name(shard_of("video003"))
    for shard in hurt.glob("*.safetensors"):
        if shard.name != own:
            shard.unlink()
    tab.goto(served.address + "/browse/rows?store=hurt&video=video003")
    tab.wait_for_selector(".alike:has-text('is missing')")
    shutil.rmtree(hurt)

    assert tab.locator("svg.timeline rect").count() == 6


def test_a_search_is_an_address_that_can_be_shared(served: Served, tab: Any) -> None:
    tab.goto(served.address + "/search")
    tab.get_by_label("Words").fill("cat sings")
    tab.get_by_label("Said by").select_option("people")
    tab.keyboard.press("Tab")
    tab.get_by_role("button", name="Search").click()
    tab.wait_for_url("**/search?q=cat+sings&by=people**")
    found = tab.locator("article h2").all_inner_texts()
    other = tab.context.new_page()
    other.goto(tab.url)
    again = other.locator("article h2").all_inner_texts(), other.get_by_label("Said by").input_value()
    other.close()

    assert found == ["video007"]
    assert again == (found, "people")


def test_a_clip_plays_in_its_list_one_at_a_time(served: Served, tab: Any) -> None:
    tab.problems.clear()
    tab.goto(served.address + "/search?q=sings")
    first, second = (tab.get_by_role("button", name=f"Play video{number}") for number in ("007", "012"))
    first.focus()
    tab.keyboard.press("Space")
    until(tab, "document.querySelector('article video').readyState > 0")
    assert tab.locator("video").get_attribute("aria-label") == "Video video007"
    second.click()
    assert tab.locator("video").get_attribute("aria-label") == "Video video012"
    assert [each.get_attribute("aria-expanded") for each in (first, second)] == ["false", "true"]
    second.click()

    assert tab.locator("video").count() == 0
    assert tab.locator("article mark").first.inner_text() == "sings"
    assert tab.problems == []


def until(tab: Any, true: str) -> None:
    """Asked from outside: the policy of our pages lets nothing in them evaluate a text."""
    last = time.monotonic() + 60
    while not tab.evaluate(true):
        assert time.monotonic() < last, true
        tab.wait_for_timeout(50)


def test_a_command_is_watched_and_its_end_is_seen(served: Served, tab: Any, root: Path) -> None:
    tab.goto(served.address + "/watch")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"}
    with subprocess.Popen(
        [sys.executable, "-c", WORK], cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()  # beside the one that build_browsed wrote, whose process is this
        tab.wait_for_selector("progress[aria-label='extract deep'][value='4']")
        assert "2 commands running" in tab.locator(".commands").inner_text()
        tab.get_by_role("link", name="dask dashboard").focus()
        process.stdin.write(b"\n")
        process.stdin.flush()
        tab.wait_for_selector("progress[aria-label='extract deep'][value='7']")
        assert tab.evaluate("document.activeElement.textContent") == "dask dashboard"  # what is renewed keeps the focus
        process.kill()
    tab.wait_for_selector("text=was killed")

    assert "1 command running" in tab.locator(".commands").inner_text()


def test_the_end_of_a_log_stays_in_sight_until_somebody_scrolls_up(served: Served, tab: Any, root: Path) -> None:
    log = root / "logs/many/worker-1.log"
    log.parent.mkdir()
    log.write_text("".join(f"line {number}\n" for number in range(200)))
    tab.goto(served.address + "/watch?log=many/worker-1.log")
    below = "((at) => at.scrollTop + at.clientHeight >= at.scrollHeight - 4)(document.querySelector('.log'))"

    for text in ("line 199", "and one more"):
        tab.wait_for_selector(f".log :text('{text}')")
        until(tab, below)
        with log.open("a") as lines:
            lines.write("and one more\n")
    tab.evaluate("document.querySelector('.log').scrollTop = 0")
    with log.open("a") as lines:
        lines.write("the last one\n")
    tab.wait_for_selector(".log :text('the last one')", state="attached")
    assert tab.evaluate("document.querySelector('.log').scrollTop") == 0


def test_a_blind_vote_is_made_cast_and_counted(served: Served, tab: Any, tmp_path: Path) -> None:
    tab.problems.clear()
    tab.goto(served.address + PAGES["compare"])
    tab.get_by_role("button", name="Make a vote page").click()
    tab.wait_for_url("**/compare/vote?first=a**")
    with tab.context.expect_page() as opened:
        tab.get_by_role("link", name="Vote here").click()
    vote = opened.value
    vote.wait_for_selector("html[data-ready=yes]")
    clips = int(vote.locator("#bar").get_attribute("max"))
    for _ in range(clips):
        vote.keyboard.press("ArrowDown")
    with vote.expect_download() as saved:
        vote.get_by_role("button", name="Save votes").click()
    saved.value.save_as(tmp_path / "votes.json")
    vote.close()
    (tmp_path / "other.json").write_text("{}")
    tab.get_by_label("Saved votes").set_input_files(tmp_path / "other.json")
    tab.get_by_role("button", name="Count").click()
    tab.wait_for_selector("#counted:has-text('has no checksum')")
    tab.problems.clear()  # the browser tells of every answer that is a no
    tab.get_by_label("Saved votes").set_input_files(tmp_path / "votes.json")
    tab.get_by_role("button", name="Count").click()
    tab.wait_for_selector("#counted .said")

    assert f"{clips} were even" in tab.locator("#counted").inner_text()
    assert clips > 5
    assert tab.problems == []
