"""The vote page in a real browser: ten pairs are clicked, the file it saves is counted, and it gives nobody away."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.sealed_file import write_sealed_json
from pipeline.evaluation.ballot import VoteKey, draw_ballot, read_key
from pipeline.report import vote_page
from tests.browsers import patient, running_browser
from tests.report.conftest import build_project

RUNS = ("walrus_net", "pelican_net")
EVIL = "</script><img src=x onerror=alert(1)> “ü”"
SCRIPT = Path(vote_page.__file__).with_name("sha256.js")
LOCAL = ("file:", "data:", "blob:")
WINNERS = "ffsssssttf"  # of the ten clips in the page's order: first, second, tie


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two runs on twelve clips, one with a hostile sentence, and their page of ten."""
    root = tmp_path_factory.mktemp("votes")
    build_project(root, test_videos=12)
    for run, verb in zip(RUNS, ("slides", "jumps"), strict=True):
        said = {f"video{n:03d}": {"caption": f"a square {verb} {n} times"} for n in range(12)}
        said["video003"]["caption"] = f"{verb} {EVIL}"
        write_sealed_json(root / f"predictions/{run}.json", {"run": run, "split": "test", "predictions": said})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["compare", *RUNS, "--vote-page", "vote.html", "--clips", "10", "--quiet"]) == 0
        yield root


@pytest.fixture(scope="module")
def key(project: Path) -> VoteKey:
    return read_key(project / "vote.key.json")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as running:
        yield running


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A voter's browser without a network; the test fails when a page in it complains or asks for anything."""
    made, complaints = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True), []
    made.on("console", lambda message: complaints.append(message.text))
    made.on("weberror", lambda error: complaints.append(str(error.error)))
    made.on(
        "request", lambda one: complaints.extend([] if one.url.startswith(("file:", "data:", "blob:")) else [one.url])
    )
    yield made
    made.close()
    assert complaints == []


def opened(context: Any, project: Path) -> Any:
    tab = patient(context.new_page())
    tab.goto((project / "vote.html").as_uri())
    tab.wait_for_selector("html[data-ready]", state="attached")
    return tab


def side_of(tab: Any, winner: str) -> str:
    """Where the run's sentence is, told by its verb as only this test knows it."""
    if winner == "t":
        return "tie"
    verb = "slides" if winner == "f" else "jumps"
    return "left" if verb in tab.locator("#left").inner_text() else "right"


def saved(tab: Any, path: Path) -> Path:
    with tab.expect_download() as download:
        tab.locator("#save").click()
    download.value.save_as(path)
    assert download.value.suggested_filename.startswith("framescribe-votes-")
    return path


def counts(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["compare", "--votes", str(path), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_ten_pairs_are_clicked_and_counted(
    context: Any, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tab = opened(context, project)
    assert tab.locator("#save").is_disabled()
    for number, winner in enumerate(WINNERS):
        assert tab.locator("#place").inner_text() == f"Clip {number + 1} of 10"
        tab.locator(f"#choose-{side_of(tab, winner)}").click()
    assert tab.locator("#end").is_visible()
    found = counts(saved(tab, tmp_path / "votes.json"), capsys)

    assert found["runs"] == [*RUNS]
    assert found["votes"] == {"first": 3, "second": 5, "tie": 2}
    assert found["clips"]["share"] == pytest.approx(5 / 8)


def test_keys_vote_and_go_back(context: Any, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tab = opened(context, project)
    for winner in "fs":
        tab.keyboard.press({"left": "ArrowLeft", "right": "2", "tie": "0"}[side_of(tab, winner)])
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Backspace")
    assert tab.locator("#choose-tie").get_attribute("aria-pressed") == "true"
    tab.keyboard.press({"left": "1", "right": "ArrowRight"}[side_of(tab, "s")])

    assert tab.locator("#done").inner_text() == "3 of 10 voted"
    assert counts(saved(tab, tmp_path / "votes.json"), capsys)["votes"] == {"first": 1, "second": 2, "tie": 0}


def forbid_storage(context: Any) -> None:
    """As browsers may do to pages from disk."""
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")


@pytest.mark.parametrize("storage", [True, False])
def test_votes_survive_a_reload_and_the_voter_stays_the_same(
    context: Any, project: Path, tmp_path: Path, storage: bool
) -> None:
    if not storage:
        forbid_storage(context)
    tab = opened(context, project)
    tab.keyboard.press("1")
    before = json.loads(saved(tab, tmp_path / "before.json").read_text())
    tab.reload()
    tab.wait_for_selector("html[data-ready]", state="attached")
    assert tab.locator("#place").inner_text() == "Clip 2 of 10"
    after = json.loads(saved(tab, tmp_path / "after.json").read_text())

    assert before == after


def test_two_browsers_are_two_voters(browser: Any, project: Path, tmp_path: Path) -> None:
    voters = set()
    for number in range(2):
        one = browser.new_context(offline=True)
        tab = opened(one, project)
        tab.keyboard.press("0")
        voters.add(json.loads(saved(tab, tmp_path / f"{number}.json").read_text())["voter"])
        one.close()
    assert len(voters) == 2


def test_the_page_does_not_reveal_which_run_is_which(project: Path, key: VoteKey) -> None:
    source = (project / "vote.html").read_text()
    inside = json.loads(source.split('id="inside">')[1].split("</script>")[0])

    for name in (*RUNS, "walrus", "pelican", "first_is_left", "video0", str(project), "predictions"):
        assert name not in source
    assert set(inside) == {"ballot", "pairs"}
    assert {frozenset(pair) for pair in inside["pairs"]} == {frozenset({"token", "left", "right", "film"})}
    assert [pair["token"] for pair in inside["pairs"]] != sorted(key.pairs)
    assert 0 < sum(pair.first_is_left for pair in key.pairs.values()) < 10
    for pair in inside["pairs"]:
        said = pair["left"] if key.pairs[pair["token"]].first_is_left else pair["right"]
        assert "slides" in said


def test_a_token_says_nothing_of_the_side(project: Path, key: VoteKey) -> None:
    """Over many seeds neither the token's last bit nor its first goes with the side."""
    pairs = [pair for seed in range(100) for pair in draw_ballot(*RUNS, seed=seed).pairs]
    same = sum((int(pair.token, 16) & 1) == pair.first_is_left for pair in pairs)
    high = sum((int(pair.token, 16) >> 63) == pair.first_is_left for pair in pairs)
    assert len(pairs) == 1200
    assert 500 < same < 700
    assert 500 < high < 700


def test_the_file_saved_has_the_bytes_that_we_would_write(context: Any, project: Path, tmp_path: Path) -> None:
    tab = opened(context, project)
    for press in "1200212":
        tab.keyboard.press(press)
    path = saved(tab, tmp_path / "votes.json")
    value = json.loads(path.read_text())
    write_sealed_json(tmp_path / "ours.json", value)

    assert path.read_bytes() == (tmp_path / "ours.json").read_bytes()


def test_the_browsers_sha256_is_sha256(browser: Any) -> None:
    tab = browser.new_page()
    tab.add_script_tag(path=str(SCRIPT))
    for length in (0, 1, 55, 56, 63, 64, 65, 119, 120, 1000):
        data = bytes((7 * n + length) % 256 for n in range(length))
        found = tab.evaluate("(bytes) => sha256(new Uint8Array(bytes))", list(data))
        assert found == hashlib.sha256(data).hexdigest(), length
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_sticks_out(browser: Any, project: Path, scheme: Any) -> None:
    one = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme, offline=True)
    tab = opened(one, project)

    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    for name in ("left", "right", "tie"):
        box = tab.locator(f"#choose-{name}").bounding_box()
        assert box["height"] >= 44
        assert box["x"] + box["width"] <= 360
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 245, 242)", "dark": "rgb(20, 24, 27)"}[scheme]
    one.close()


def test_the_film_plays_and_stops(context: Any, project: Path) -> None:
    from playwright.sync_api import expect

    tab = opened(context, project)
    picture = tab.locator("#screen image")
    before = picture.get_attribute("x")
    expect(picture).not_to_have_attribute("x", before or "")
    tab.keyboard.press("p")
    assert tab.locator("#play").inner_text() == "Play"
    stopped = picture.get_attribute("x")
    tab.wait_for_timeout(400)
    assert picture.get_attribute("x") == stopped


def test_clips_that_cannot_be_read_are_not_asked(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "all.html"
    said = {f"video{n:03d}": f"gone {n}" for n in range(12)}
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({f"lost{n}": f"{name} {n}" for n in range(3)}))
    (tmp_path / "mixed.json").write_text(json.dumps(said | {"lost": "here"}))
    (tmp_path / "other.json").write_text(
        json.dumps({video: f"x {text}" for video, text in said.items()} | {"lost": "x"})
    )

    arguments = ["--vote-page", str(page), "--json"]
    assert main(["compare", str(tmp_path / "mixed.json"), str(tmp_path / "other.json"), *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["clips"] == 12
    assert main(["compare", str(tmp_path / "one.json"), str(tmp_path / "two.json"), *arguments]) == 3
    assert "none of the 3 clips" in capsys.readouterr().err
