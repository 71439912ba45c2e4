"""The page in a real browser: a clip goes in, the sentence and what each word looked at come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import clips
from tests.live.serving import Served, begun_and_held, go_on, serving
from tests.live.tabs import DONE, Tab, entered_state, give

NAMELESS = """() => [...document.querySelectorAll("button, select, input, summary, a[href], [tabindex='0'], svg")].filter((each) => {
  if (each.closest("[aria-hidden=true], [hidden]") || each.type === "hidden") return false;
  return !(each.getAttribute("aria-label") || each.labels?.length || each.textContent.trim());
}).map((each) => each.outerHTML.slice(0, 200))"""  # noqa: E501
SHIFTS = """() => { window.shifted = 0; new PerformanceObserver((list) => { for (const each of list.getEntries())
  if (!each.hadRecentInput) window.shifted += each.value; }).observe({ type: "layout-shift", buffered: true }); }"""


@pytest.fixture(scope="module")
def server(trained: Path) -> Iterator[Served]:
    with serving(trained, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache") as each:
        yield each


@pytest.fixture(scope="module")
def entered(browser: Any, server: Served) -> dict[str, Any]:
    return entered_state(browser, server)


@pytest.fixture
def page(browser: Any, server: Served, entered: dict[str, Any]) -> Iterator[Any]:
    """The form; a test fails when the page complains or asks for anything from elsewhere."""
    with Tab(browser, server, entered) as tab:
        yield tab


def test_a_good_clip_gets_its_sentence(page: Any, trained: Path) -> None:
    assert page.evaluate(NAMELESS) == []
    page.get_by_label("second").check()
    give(page, trained / "videos/red.mp4")
    page.wait_for_selector(DONE)

    assert page.locator("h1").inner_text() == "red.mp4"
    sentences = page.locator(".sentence").all_inner_texts()
    assert len(sentences) == 2
    assert all("clip" in each for each in sentences)
    assert page.locator("#stages li.done, #stages li.kept").count() == page.locator("#stages li").count() == 8
    assert page.evaluate(NAMELESS) == []


@pytest.mark.slow
def test_a_word_shows_where_it_looked(page: Any, trained: Path) -> None:
    give(page, trained / "videos/blue.mp4")
    page.wait_for_selector(DONE)
    while not page.evaluate("document.querySelector('video').readyState"):
        page.wait_for_timeout(50)
    word = page.locator(".word").nth(1)
    word.click()

    assert word.get_attribute("aria-pressed") == "true"
    assert "strongest at" in page.locator(".looking").inner_text()
    assert not page.evaluate("document.querySelector('video').controls")  # which would lie over the marks
    page.locator("video").focus()
    assert page.evaluate("document.querySelector('video').controls")
    second = float(page.locator(".looking").inner_text().split("strongest at ")[1].split(" s")[0])
    assert page.evaluate("document.querySelector('video').currentTime") == pytest.approx(second, abs=0.06)
    assert page.locator(".when .after").count() == 1
    page.get_by_role("button", name="Play the words of first").click()
    page.get_by_role("button", name="Stop of first").click()
    assert page.get_by_role("button", name="Play the words of first").count() == 1
    page.locator("summary", has_text="Other sentences").click()
    assert page.locator(".others tbody tr").count() >= 6
    page.locator("summary", has_text="Attention per word").click()
    page.locator(".looks tbody tr").first.wait_for()
    assert page.locator(".looks tbody tr").count() == page.locator(".word").count()


@pytest.mark.slow
def test_places_and_regions_lie_over_the_player(page: Any, trained: Path) -> None:
    """Of a model that records them: cell (1, 2) of a 2 x 3 grid on the middle half of the frame, and two boxes."""
    cells = {"maps": [[[0, 0, 0], [0, 0, 900]]] * 9, "part": [0.25, 0, 0.75, 1], "frames": [2] * 9}
    regions = [[{"frame": 1, "boxes": [[0.1, 0.2, 0.5, 0.6, 700], [0, 0, 1, 1, 100]]}]] * 9

    def with_places(route: Any) -> None:
        answer = route.fetch()
        content = answer.json()
        content["shown"]["videos"][0]["detail"]["looks"][0] |= {"cells": cells, "regions": regions}
        route.fulfill(response=answer, json=content)

    page.route("**/result", with_places)
    give(page, trained / "videos/red.mp4")
    page.wait_for_selector(DONE)
    page.locator(".word").first.click()
    width, height = (
        page.evaluate(f"document.querySelector('.over').viewBox.baseVal.{side}") for side in ("width", "height")
    )
    shares = """(name) => [...document.querySelectorAll(`.over .${name}`)].map((each) => ["x", "y", "width", "height"]
      .map((side) => Number(each.getAttribute(side))))"""
    strongest = page.locator(".over .cell[data-weight='900']")

    assert float(strongest.get_attribute("x")) == pytest.approx(width * (0.25 + 0.5 * 2 / 3))
    assert float(strongest.get_attribute("y")) == pytest.approx(height / 2)
    assert page.evaluate(shares, "box")[-1] == pytest.approx([0.1 * width, 0.2 * height, 0.4 * width, 0.4 * height])
    told = page.locator(".looking").inner_text()
    assert "row 2 of 2, column 3 of 3" in told
    assert "2 regions, the strongest 70 %" in told
    assert page.evaluate(NAMELESS) == []


def test_a_bad_clip_has_its_reason(page: Any, tmp_path: Path) -> None:
    bad = tmp_path / "<img src=x onerror=alert(1)>.mp4"
    bad.write_text("<html>not a video</html>")
    give(page, bad)
    page.wait_for_selector("html[data-ready=failed]")

    told = page.get_by_role("alert").inner_text()
    assert "not-a-video" in told
    assert "What to do:" in told
    assert page.locator("h1").inner_text() == bad.name
    assert page.locator("h1 img").count() == 0


@pytest.mark.slow
def test_a_file_is_dropped_anywhere(page: Any) -> None:
    dropped = page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['<html>'], 'dropped.mp4')); return all; }"
    )
    page.dispatch_event("main", "drop", {"dataTransfer": dropped})
    page.wait_for_url("**/caption/jobs/*")

    page.wait_for_selector("html[data-ready=failed]")  # or the next test holds the process that works on it
    assert page.locator("h1").inner_text() == "dropped.mp4"


@pytest.mark.slow
def test_two_tabs_and_a_reload_in_the_middle(
    page: Any, browser: Any, server: Served, entered: dict[str, Any], tmp_path: Path, trained: Path
) -> None:
    _, held = begun_and_held(server, lambda: give(page, clips.write_clip(tmp_path / "slow.mp4")))
    with Tab(browser, server, entered) as other:
        give(other, trained / "videos/green.mp4")
        other.get_by_text("Waiting: 1 clip is computed before").wait_for()
        page.reload()
        other.reload()
        go_on(held)
        for tab in (page, other):
            tab.wait_for_selector(DONE)
            assert tab.locator(".sentence").count() == 1
        assert other.locator("h1").inner_text() == "green.mp4"
    assert page.locator("h1").inner_text() == "slow.mp4"


@pytest.mark.slow
def test_by_keyboard_alone(page: Any) -> None:
    reach(page, "document.activeElement.id === 'video'")
    page.keyboard.type("red")
    page.keyboard.press("Enter")
    page.wait_for_selector(DONE)
    reach(page, "document.activeElement.matches('.word')")
    page.keyboard.press("ArrowRight")

    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.get_by_role("region", name="People said").locator("li").count() == 2
    assert page.evaluate("document.activeElement.textContent") == page.locator(".word").nth(1).inner_text()
    reach(page, "document.activeElement.matches('summary')")
    page.keyboard.press("Enter")
    assert page.locator("details.looked[open]").count() == 1


def reach(page: Any, wanted: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(wanted):
            return
    raise AssertionError(f"no number of tabs leads to {wanted}")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen(browser: Any, server: Served, entered: dict[str, Any], trained: Path, scheme: str) -> None:
    with Tab(browser, server, entered, viewport={"width": 320, "height": 640}, color_scheme=scheme) as tab:
        widths = [tab.evaluate("document.documentElement.scrollWidth")]
        give(tab, trained / "videos/red.mp4")
        tab.evaluate(SHIFTS)
        tab.wait_for_selector(DONE)
        tab.locator(".word").first.click()
        for summary in tab.locator("summary").all():
            summary.click()
        widths.append(tab.evaluate("document.documentElement.scrollWidth"))
        ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")

    assert widths == [320, 320]
    red = int(ground.split("(")[1].split(",")[0])
    assert (red < 60) == (scheme == "dark")


@pytest.mark.slow
def test_nothing_jumps(page: Any, trained: Path) -> None:
    page.evaluate(SHIFTS)
    give(page, trained / "videos/red.mp4")
    page.evaluate(SHIFTS)
    page.wait_for_selector(DONE)
    page.locator(".word").first.click()
    page.wait_for_timeout(300)

    assert page.evaluate("window.shifted") < 0.1  # what browsers call good


@pytest.mark.slow
def test_a_file_that_is_too_large_is_told_before_it_is_sent(page: Any, tmp_path: Path) -> None:
    page.evaluate("document.getElementById('ask').dataset.most = 10")
    clip = tmp_path / "large.mp4"
    clip.write_bytes(bytes(11))
    page.set_input_files("#file", str(clip))

    assert "are the most" in page.locator("#told").inner_text()


@pytest.mark.slow
def test_another_page_cannot_use_the_cookie(browser: Any, server: Served, entered: dict[str, Any]) -> None:
    """A page of another port of this machine, which the browser counts as the same site."""
    context = browser.new_context(storage_state=entered)
    tab = context.new_page()
    tab.route("http://127.0.0.1:9/**", lambda route: route.fulfill(body="<p>elsewhere", content_type="text/html"))
    tab.goto("http://127.0.0.1:9/")
    script = """async (address) => Promise.all([["GET", "cors"], ["POST", "no-cors"], ["PUT", "cors"]].map(
      ([method, mode]) => fetch(`${address}/caption/jobs`, { method, mode, credentials: "include" }).then(
        (answer) => answer.type === "opaque" ? "unread" : answer.status, () => "refused")))"""

    assert tab.evaluate(script, server.address) == ["refused"] * 3
    framed = tab.evaluate(
        """(address) => new Promise((done) => { const frame = document.createElement("iframe");
        frame.src = address; frame.onload = () => { let seen; try { seen = frame.contentDocument?.body.innerText; }
        catch { seen = null; } done(seen ?? "closed"); }; document.body.append(frame); })""",
        f"{server.address}/caption",
    )
    assert framed == "closed"
    context.close()


def test_cancel(page: Any, server: Served, tmp_path: Path) -> None:
    """The page may see it before the button has its answer. The last test: the next clip would load all libraries."""
    late: list[Any] = []
    page.route("**/cancel", lambda route: late.append((route, route.fetch())))
    begun_and_held(server, lambda: give(page, clips.write_clip(tmp_path / "slow.mp4")))
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("html[data-ready=cancelled]")

    assert "Cancelled" in page.get_by_role("status").inner_text()
    assert page.evaluate("document.activeElement.id") == "state"  # the button that had the focus is gone
    assert page.get_by_role("button", name="Cancel").count() == 0
    ((route, answer),) = late
    route.fulfill(response=answer)
