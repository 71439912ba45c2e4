"""The page in a real browser: no network, no complaint, and what is drawn lies where it should."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.console import Console
from pipeline.core.sealed_file import write_sealed_json
from pipeline.params.report import Report
from pipeline.report import report
from tests.browsers import patient, running_browser
from tests.report.conftest import attention, build_project

EVIL = "</script><img src=x onerror=alert(1)>"
MANY = 3000
CONTROLS = "button, select, input, summary, [tabindex='0'], a[href]"

NAMELESS = """(controls) => [...document.querySelectorAll(`${controls}, img, svg`)].filter((each) => {
  if (each.closest("[aria-hidden=true], [hidden]")) return false;
  const ids = (each.getAttribute("aria-labelledby") || "").split(" ");
  const names = ids.map((id) => document.getElementById(id)?.textContent || "").join("");
  const own = each.getAttribute("aria-label") || each.getAttribute("alt") || each.closest("label")?.textContent;
  return !(names || own || each.textContent.trim());
}).map((each) => each.outerHTML.slice(0, 200))"""
CONTRAST = """(selector) => {
  const part = (v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((v) => part(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const text = document.querySelector(selector), ground = text.closest(".card") || document.body;
  const [a, b] = [light(getComputedStyle(text).color), light(getComputedStyle(ground).backgroundColor)];
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """index.html of a small project with one hostile caption, and many.html of the same with thousands of videos."""
    root = tmp_path_factory.mktemp("project")
    sources = build_project(root, test_videos=24)
    captions = json.loads((sources.captions / "captions.json").read_text())
    captions["captions"]["video000"].insert(0, EVIL)
    write_sealed_json(sources.captions / "captions.json", captions)
    report.make_report(
        dataset="demo",
        runs=["attention", "mean_pool", "later"],
        extractors=["mobilenet_v2"],
        sources=sources,
        out=root / "index.html",
        params=Report(examples=12),
        console=Console(quiet=True),
    )
    _multiply(root)
    return root


def _multiply(root: Path) -> None:
    """A list of thousands of videos that share the files of two dozen."""
    text = (root / "index-videos/list.js").read_text()
    content = json.loads(text[text.index("{") : -3])
    videos = content["videos"]
    content["videos"] = [videos[n % len(videos)] | {"id": f"copy{n}"} for n in range(MANY)]
    for name in ("many.html", "many-videos"):
        shutil.rmtree(root / name, ignore_errors=True)
    shutil.copytree(root / "index-videos", root / "many-videos")
    (root / "many-videos/list.js").write_text(f'framescribe.receive("list", {json.dumps(content)});\n')
    (root / "many.html").write_text((root / "index.html").read_text().replace("index-videos", "many-videos"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture
def page(browser: Any, pages: Path) -> Iterator[Any]:
    """The small report; a test fails when the page complains or asks for anything but files beside it."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on("request", lambda request: complaints.extend([] if _is_local(request.url) else [request.url]))
    open_page(tab, pages / "index.html")
    yield tab
    context.close()
    assert complaints == []


def _is_local(url: str) -> bool:
    return url.startswith(("file:", "data:"))


def open_page(tab: Any, path: Path) -> None:
    patient(tab).goto(path.as_uri())
    tab.wait_for_selector("html[data-ready]", state="attached")
    settled(tab)


def settled(tab: Any) -> None:
    """Locators look from outside the page's world, where its content policy lets nobody evaluate text."""
    from playwright.sync_api import expect

    expect(tab.locator(".clip:not([data-ready])")).to_have_count(0)


def look_inside(tab: Any) -> None:
    """Open what the words of the first clip looked at; a browser draws it after the click, when it is told of it."""
    from playwright.sync_api import expect

    tab.locator("#clip-1 details.looked summary").click()
    expect(tab.locator("#clip-1 details.looked .looks")).not_to_have_count(0)


def titles(tab: Any) -> list[str]:
    return tab.locator(".clip h3").all_inner_texts()


def wait_for_shown(tab: Any, text: str) -> None:
    from playwright.sync_api import expect

    expect(tab.locator("#shown")).to_have_text(re.compile(f"^{text} "))


def test_videos_are_drawn_with_frames_sentences_and_references(page: Any) -> None:
    assert page.locator(".clip").count() == 10
    first = page.locator(".clip").first
    assert first.locator(".filmplace svg image").count() == 8
    assert first.locator(".said").count() == 2
    assert "CIDEr-D" in first.inner_text()
    assert page.locator("#shown").inner_text() == "24 videos, 1–10 shown"
    loaded = page.evaluate(
        "new Promise((done) => { const image = new Image(); image.onload = () => done(image.naturalWidth);"
        " image.src = document.querySelector('.clip image').getAttribute('href'); })"
    )
    assert loaded >= 8 * 128


def test_a_video_plays_from_the_disk_and_moves_nothing_while_it_loads(page: Any) -> None:
    first = page.locator("#clip-1")
    assert first.locator("video").count() == 0  # nothing of it is read before
    first.locator(".player summary").focus()
    page.keyboard.press("Enter")
    video = first.locator("video")
    video.wait_for()
    before = box(video)

    page.wait_for_function("document.querySelector('#clip-1 video').readyState >= 2")
    assert video.evaluate("(shown) => [shown.videoWidth, shown.videoHeight]") == [128, 96]
    assert box(video) == before
    assert before[2] / before[3] == pytest.approx(128 / 96, abs=0.01)
    assert first.locator(".filmplace svg image").count() == 8
    assert first.locator(".player summary").inner_text().startswith("Play")


def test_a_page_that_was_sent_without_the_videos_says_so_where_one_is_played(
    browser: Any, pages: Path, tmp_path: Path
) -> None:
    shutil.copy(pages / "index.html", tmp_path)
    shutil.copytree(pages / "index-videos", tmp_path / "index-videos")
    tab = browser.new_page()
    open_page(tab, tmp_path / "index.html")
    tab.locator("#clip-1 .player summary").click()

    tab.wait_for_selector("#clip-1 .player p")
    assert "not where it was" in tab.locator("#clip-1 .player").inner_text()
    assert tab.locator("#clip-1 .filmplace svg image").count() == 8
    tab.close()


def test_text_from_outside_stays_text(page: Any) -> None:
    page.fill("#words", "onerror")
    wait_for_shown(page, "1 of 24")

    assert EVIL in page.locator(".clip").inner_text()
    assert page.locator(".clip img").count() == 0


def scores_shown(tab: Any) -> list[list[float]]:
    shown = [clip.locator(".mainscore b").all_inner_texts() for clip in tab.locator(".clip").all()]
    return [[float(score) for score in scores] for scores in shown]


def test_filter_and_sort(page: Any) -> None:
    page.select_option("#order", "worst")
    worst = scores_shown(page)
    means = [sum(scores) / len(scores) for scores in worst]
    assert means == sorted(means)

    page.select_option("#order", "spread")
    spread = scores_shown(page)
    gaps = [max(scores) - min(scores) for scores in spread]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1]

    page.select_option("#slice", "small")
    wait_for_shown(page, "5 of 24")
    assert set(page.locator(".clip header .badge").all_inner_texts()) == {"small"}
    page.fill("#words", "green")
    wait_for_shown(page, "2 of 24")


def test_keys_move_search_and_open(page: Any) -> None:
    focused = "document.activeElement.id"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "clip-1"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate(focused) == "clip-2"
    page.keyboard.press("o")
    assert page.locator("#clip-2 details.looked[open]").count() == 1
    for _ in range(9):
        page.keyboard.press("j")
    assert page.evaluate(focused) == "clip-11"  # over the end of the page
    page.keyboard.press("k")
    assert page.evaluate(focused) == "clip-10"
    page.keyboard.press("/")
    assert page.evaluate(focused) == "words"
    page.keyboard.type("jk")  # letters are letters where words are typed
    assert page.input_value("#words") == "jk"
    page.keyboard.press("Escape")
    assert page.input_value("#words") == ""


def box(locator: Any) -> tuple[float, float, float, float]:
    found = locator.bounding_box()
    return found["x"], found["y"], found["width"], found["height"]


def on_frame(tab: Any, mark: str, frame: str) -> list[list[float]]:
    """Edges of marks as shares of their frame: left, top, right, bottom."""
    return tab.evaluate(
        """([frame, mark]) => {
          const found = document.querySelector(frame), around = found.getBoundingClientRect();
          return [...found.querySelectorAll(mark)].map((each) => { const b = each.getBoundingClientRect();
            return [(b.left - around.left) / around.width, (b.top - around.top) / around.height,
                    (b.right - around.left) / around.width, (b.bottom - around.top) / around.height]; });
        }""",
        [frame, mark],
    )


def test_marks_lie_where_the_words_looked(page: Any) -> None:
    look_inside(page)
    places = "#clip-1 section[aria-label=Places]"
    drawn = on_frame(page, "rect.cell", f"{places} li:nth-child(2) svg")
    weights = page.locator(f"{places} li:nth-child(2) rect.cell").evaluate_all(
        "(all) => all.map((r) => +r.dataset.weight)"
    )

    # Of 128 x 96 the network saw columns 32 to 96 and rows 16 to 80; cell 1 of 2 x 4 is the second of the first row.
    assert len(drawn) == 8
    assert weights.index(max(weights)) == 1
    assert drawn[1] == pytest.approx([0.375, 1 / 6, 0.5, 0.5], abs=0.02)
    assert drawn[7] == pytest.approx([0.625, 0.5, 0.75, 5 / 6], abs=0.02)
    (seen,) = on_frame(page, "rect.seen", f"{places} li:nth-child(2) svg")
    assert seen == pytest.approx([0.25, 1 / 6, 0.75, 5 / 6], abs=0.02)

    regions = on_frame(page, "rect.box", "#clip-1 section[aria-label=Regions] li:first-child svg")
    assert regions == [pytest.approx([0.5, 0.5, 1, 1], abs=0.03), pytest.approx([0, 0, 0.5, 0.5], abs=0.03)]


def test_the_heat_map_shares_the_clock_of_the_film_above_it(page: Any) -> None:
    look_inside(page)
    film = box(page.locator("#clip-1 .looks .film"))
    line = page.locator("#clip-1 .looks tbody tr:nth-child(4) svg.time")
    bars = on_frame(page, "rect", "#clip-1 .looks tbody tr:nth-child(4) svg.time")

    assert box(line)[0] == pytest.approx(film[0], abs=1)
    assert box(line)[2] == pytest.approx(film[2], abs=1)
    assert [bar[0] for bar in bars] == pytest.approx([row / 8 for row in range(8)], abs=0.01)
    assert page.locator("#clip-1 .looks thead th.share").all_inner_texts() == ["ST", "TS", "low", "high"]
    assert page.locator("#clip-1 .looks tbody tr:first-child td.share").all_inner_texts() == [
        "90 %",
        "10 %",
        "25 %",
        "75 %",
    ]
    (before,) = on_frame(page, "rect.before", "#clip-1 .refocus svg.time")
    (after,) = on_frame(page, "rect.after", "#clip-1 .refocus svg.time")
    assert (before[0], after[0]) == (pytest.approx(4 / 8, abs=0.02), pytest.approx(5 / 8, abs=0.02))


def test_everything_has_a_name(page: Any) -> None:
    look_inside(page)
    nameless = page.evaluate(NAMELESS, CONTROLS)
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((each) => +each.tagName[1])")

    assert nameless == []
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('table')].every((table) => table.caption)")
    assert page.evaluate("[...document.querySelectorAll('th')].every((cell) => cell.scope)")
    assert page.evaluate("['header', 'nav', 'main', 'footer'].every((tag) => document.querySelector(tag))")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling_and_text_can_be_read(browser: Any, pages: Path, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    tab = context.new_page()
    open_page(tab, pages / "index.html")
    look_inside(tab)

    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert _contrast(tab, ".said") >= 7
    assert _contrast(tab, ".note") >= 4.5
    context.close()


def _contrast(tab: Any, selector: str) -> float:
    """WCAG's ratio between a text and the ground of its nearest card or page."""
    return tab.evaluate(CONTRAST, selector)


def test_three_thousand_videos_stay_usable(browser: Any, pages: Path) -> None:
    """Ten videos are drawn whatever their number, and only their files are read."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    tab, asked = context.new_page(), []
    tab.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    open_page(tab, pages / "many.html")

    assert tab.locator("#page").inner_text() == "page 1 of 300"
    assert tab.locator(".clip").count() == 10
    assert len({name for name in asked if name.endswith((".js", ".jpg"))}) <= 1 + 2 * 10
    tab.select_option("#order", "id")
    tab.click("#next")
    assert titles(tab) == [f"copy{number}" for number in range(10, 20)]
    tab.fill("#words", "copy2999")
    wait_for_shown(tab, "1 of 3000")
    assert titles(tab) == ["copy2999"]
    assert tab.evaluate("document.querySelectorAll('*').length") < 3000
    context.close()


def test_a_page_without_its_folder_says_so(browser: Any, pages: Path, tmp_path: Path) -> None:
    shutil.copy(pages / "index.html", tmp_path / "mailed.html")
    tab = browser.new_page()
    tab.goto((tmp_path / "mailed.html").as_uri())
    tab.wait_for_selector("#clips p")

    assert "index-videos beside this page" in tab.locator("#clips").inner_text()
    assert "1.728" in tab.locator("#scores").inner_text()
    tab.close()


def test_the_page_of_ones_own_videos_is_one_file_with_the_same_views(browser: Any, pages: Path, tmp_path: Path) -> None:
    from pipeline.captioner.generate import GeneratedCaption
    from pipeline.captioning.any_video import Captioned
    from pipeline.index.video_index import read_index
    from pipeline.report.captioned import render

    words = ["a", EVIL, "moves"]
    record = {"run": "mine", "vocabulary": ["x"] * 9, "features": {}}
    captioned = Captioned(
        captions={"video001": GeneratedCaption(" ".join(words), -0.5, words, {}, f"the {EVIL} rests")},
        refused={"bad.mp4": "no-frames: 0 frames"},
        index=read_index(pages / "data/index"),
        record=record,
        attention={"video001": attention(3)},
        facts={"columns": {"layer": ["low", "high"]}, "cut": {}},
    )
    (tmp_path / "own.html").write_text(render(captioned, dataset="demo"))
    tab, complaints = browser.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text))
    open_page(tab, tmp_path / "own.html")
    look_inside(tab)

    assert "p 0.61" in tab.locator("#clip-1").inner_text()
    assert tab.locator("#clip-1 .said").inner_text().strip() == f"a {EVIL} moves"
    assert tab.locator("#clip-1 .said + .first").inner_text().strip() == f"after the first reading: the {EVIL} rests"
    assert tab.locator("#clip-1 .filmplace image").count() == 8
    assert tab.locator("#clip-1 section[aria-label=Places] rect.cell").count() == 3 * 8
    assert "no-frames" in tab.locator("main").inner_text()
    assert complaints == []
    tab.close()
