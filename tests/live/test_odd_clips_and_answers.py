"""Clips that no browser plays, and answers that do not come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import clips
from tests.live.serving import Served, serving
from tests.live.tabs import DONE, Tab, entered_state, give

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(trained: Path) -> Iterator[Served]:
    with serving(trained, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache") as each:
        yield each


@pytest.fixture(scope="module")
def entered(browser: Any, server: Served) -> dict[str, Any]:
    return entered_state(browser, server)


@pytest.mark.parametrize(("ending", "codec"), [("avi", "mpeg4"), ("mkv", "mpeg4"), ("ts", "libx264")])
def test_of_a_clip_that_does_not_play_the_nearest_frame_is_shown(
    browser: Any, server: Served, entered: dict[str, Any], tmp_path: Path, ending: str, codec: str
) -> None:
    clip = clips.write_clip(tmp_path / f"clip.{ending}", codec=codec, frames=30)
    with Tab(browser, server, entered) as tab:
        give(tab, clip)
        tab.wait_for_selector(DONE)
        tab.locator(".screen > .frame").wait_for()
        word = tab.locator(".word").first
        word.click()
        shown = tab.locator(".screen > .frame")

        assert tab.locator("video").count() == 0
        assert shown.get_attribute("aria-label") == f"{clip.name}: {word.inner_text()}"
        assert shown.locator("image").get_attribute("href").startswith("data:image/")
        told = float(tab.locator(".looking").inner_text().split("strongest at ")[1].split(" s")[0])
        result = tab.evaluate(f"fetch('{tab.url}/result').then((each) => each.json())")
        seconds = result["shown"]["videos"][0]["detail"]["film"]["seconds"]
        nearest = min(range(len(seconds)), key=lambda place: abs(seconds[place] - told))
        tile = tab.evaluate("document.querySelector('.screen > .frame').viewBox.baseVal.width")
        assert float(shown.locator("image").get_attribute("x")) == -nearest * tile


def test_of_a_clip_that_is_not_whole_the_page_says_what_is_lost(
    browser: Any, server: Served, entered: dict[str, Any], tmp_path: Path
) -> None:
    whole = clips.write_clip(tmp_path / "clip.mp4", frames=40, container_options={"movflags": "faststart"}).read_bytes()
    (tmp_path / "part.mp4").write_bytes(whole[: len(whole) * 2 // 3])
    with Tab(browser, server, entered) as tab:
        give(tab, tmp_path / "part.mp4")
        tab.wait_for_selector(DONE)

        assert "could not be decoded" in tab.locator(".warned").inner_text()
        assert tab.locator(".sentence").count() == 1


def test_the_page_asks_again_after_an_answer_that_failed(
    browser: Any, server: Served, entered: dict[str, Any], trained: Path
) -> None:
    """Of the state, and of the result when all is done."""
    failed: list[str] = []

    def fail_once(route: Any) -> None:
        if route.request.url in failed:
            route.continue_()
        else:
            failed.append(route.request.url)
            route.abort()

    told: list[str] = []
    opened = Tab(browser, server, entered)
    with opened as tab:
        tab.expose_function("heard", lambda text: told.append(text))
        for path in ("**/state", "**/result"):
            tab.route(path, fail_once)
        give(tab, trained / "videos/red.mp4")
        tab.evaluate(
            """new MutationObserver(() => heard(document.getElementById('state').textContent))
            .observe(document.getElementById('state'), { childList: true })"""
        )
        tab.wait_for_selector(DONE)

        assert tab.locator(".sentence").count() == 1
        assert tab.locator("#state").inner_text() == "Done"
        assert len(failed) == 2
        assert any("does not answer" in each for each in told)
        assert all("ERR_FAILED" in each for each in opened.complaints)  # Chromium's own words on the two
        opened.complaints.clear()
