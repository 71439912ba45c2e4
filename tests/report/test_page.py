"""The page: complete, well-formed, escaped, usable by keyboard and screen reader, equal bytes for equal inputs."""

from __future__ import annotations

import html.parser
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.console import Console
from pipeline.core.errors import DamageError, InputError
from pipeline.core.hashing import file_sha256
from pipeline.core.sealed_file import write_sealed_json
from pipeline.params.report import Report
from pipeline.report import report
from pipeline.report.page import amount, flatten
from pipeline.report.results import Sources

QUIET = Console(quiet=True)
VOID = {"meta", "img", "input", "br", "link", "hr", "line", "polyline"}
EVIL = '<script>alert(1)</script> "><img src=x onerror=alert(2)> & </style>'


class Outline(html.parser.HTMLParser):
    """Every element with its attributes, and a complaint for each tag that does not close its own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.complaints: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.complaints.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def build(project: Sources, out: Path, *, examples: int = 5, runs: tuple[str, ...] = ("attention", "mean_pool")) -> str:
    report.make_report(
        dataset="demo",
        runs=runs,
        extractors=["mobilenet_v2", "not yet made"],
        sources=project,
        out=out,
        params=Report(examples=examples),
        console=QUIET,
    )
    return out.read_text()


def data(folder: Path, name: str) -> Any:
    """What a file beside page.html hands to the browser."""
    call = (folder / f"page-videos/{name}.js").read_text()
    prefix = f'framescribe.receive("{name}", '
    assert call.startswith(prefix)
    assert call.endswith(");\n")
    return json.loads(call[len(prefix) : -3])


def edit(path: Path, change: Any) -> None:
    value = json.loads(path.read_text())
    change(value)
    write_sealed_json(path, value)


@pytest.fixture
def page(project: Sources, tmp_path: Path) -> str:
    return build(project, tmp_path / "report/index.html")


def test_every_tag_closes_and_ids_are_unique_and_referred_to(page: str) -> None:
    outline = Outline(page)
    ids = Counter(attributes["id"] for _, attributes in outline.elements if "id" in attributes)

    assert outline.complaints == []
    assert outline.open == []
    assert max(ids.values()) == 1
    for _, attributes in outline.elements:
        for name in ("aria-labelledby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids  # type: ignore[index]


def test_a_subset_is_told_at_the_top_and_only_then(page: str, project: Sources, tmp_path: Path) -> None:
    def take_a_part(statistics: Any) -> None:
        statistics["subset"] = {"share": 0.2, "seed": 3, "moved": 5}
        statistics["splits"] = {"train": {"videos": 14}, "val": {"videos": 5}, "test": {"videos": 5}}

    edit(project.captions / "statistics.json", take_a_part)
    told = "a subset: 5 of 24 videos are in another split than the annotations say (share 0.2, seed 3)"

    assert told not in page
    assert f"This is {told}" in build(project, tmp_path / "report/index.html")


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    outline = Outline(page)

    addresses = [value or "" for _, found in outline.elements for key, value in found.items() if key in ("src", "href")]
    assert all(address.startswith(("#", "index-tables/")) for address in addresses)  # the latter only when asked for
    named = page.replace("http://www.w3.org/2000/svg", "")  # the name of a language, which nobody looks up
    assert not re.search(r"https?://|url\(|@import", named)
    assert outline.all("link") == []


def test_a_screen_reader_finds_landmarks_headers_and_alternatives(page: str) -> None:
    outline = Outline(page)
    tags = {tag for tag, _ in outline.elements}

    assert {"header", "nav", "main", "footer", "h1", "caption"} <= tags
    assert outline.all("html")[0]["lang"] == "en"
    assert all("scope" in cell for cell in outline.all("th"))
    assert all("alt" in image for image in outline.all("img"))
    assert all(drawing.get("aria-hidden") or drawing.get("aria-labelledby") for drawing in outline.all("svg"))
    assert page.count("<caption") == page.count("<table")


def test_the_page_has_scores_slices_curves_and_examples(page: str) -> None:
    outline = Outline(page)

    sections = [section["id"] for section in outline.all("section")]
    assert sections == [
        "scores",
        "slices",
        "papers",
        "curves",
        "examples",
        "figures",
        "videos",
        "features",
        "provenance",
    ]
    assert "1.728" in outline.text
    assert "+1.248" in outline.text
    assert "“a square moves”" in outline.text
    assert len([drawing for drawing in outline.all("svg") if drawing.get("role") == "img"]) == 2
    assert "no_frames" in outline.text


def test_stores_are_listed_with_the_videos_that_failed(page: str) -> None:
    outline = Outline(page)

    assert any(attributes.get("id") == "features" for _, attributes in outline.elements)
    assert "pool 4 float32" in page
    assert "Failed in mobilenet_v2: 1" in page
    assert "the decoder died of SIGSEGV on the video" in page
    assert "not yet made" not in page


def test_a_damaged_store_costs_its_facts_only(project: Sources, tmp_path: Path) -> None:
    manifest = project.features / "mobilenet_v2/store.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"SIGSEGV", b"SIGSEGW"))

    page = build(project, tmp_path / "page.html")

    assert "its checksum does not fit" in page
    assert "framescribe store repair" in page


def test_the_best_score_is_marked_in_words_too(page: str) -> None:
    cells = re.findall(r'<td class="best.*?</td>', page, flags=re.DOTALL)

    assert len(cells) >= 7
    assert all("★" in cell and "(best)" in cell for cell in cells)


def test_untrained_features_are_said_beside_their_run_and_nowhere_else(page: str) -> None:
    rows = re.findall(r'<tr><th scope="row"><span class="run.*?</tr>', page, flags=re.DOTALL)

    assert ["untrained" in row for row in rows if "attention" in row] == [False]
    assert ["untrained" in row for row in rows if "mean_pool" in row] == [True]


def test_text_from_outside_cannot_become_markup(project: Sources, tmp_path: Path) -> None:
    """Captions, predictions, slices and provenance are all written by others."""
    edit(project.captions / "captions.json", lambda value: value["captions"]["video000"].insert(0, EVIL))
    edit(project.captions / "captions.json", lambda value: value["slices"].update(video000=EVIL))
    edit(project.predictions / "attention.json", lambda value: value["predictions"]["video000"].update(caption=EVIL))
    edit(project.evaluation / "attention.json", lambda value: value["baseline"].update(caption=EVIL))
    edit(project.runs / "attention/run.json", lambda value: value["versions"].update({EVIL: EVIL}))

    outline = Outline(build(project, tmp_path / "page.html", examples=0))

    assert outline.complaints == []
    assert len(outline.all("script")) == 2
    assert not any("onerror" in attributes for _, attributes in outline.elements)
    assert "alert(1)" in outline.text
    first = next(video for video in data(tmp_path, "list")["videos"] if video["id"] == "video000")
    assert first["references"][0] == first["slice"] == EVIL


def test_only_the_pages_own_script_may_run(page: str) -> None:
    policy = next(meta["content"] for meta in Outline(page).all("meta") if "http-equiv" in meta)

    assert "default-src 'none'" in policy  # type: ignore[operator]
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/]{43}='", policy or "")) == 2
    assert "unsafe-inline" not in re.search(r"script-src[^;]*", policy or "").group()  # type: ignore[union-attr]


def test_equal_inputs_give_equal_bytes(project: Sources, tmp_path: Path) -> None:
    build(project, tmp_path / "one.html")
    build(project, tmp_path / "two.html")

    one, two = ((tmp_path / f"{name}.html").read_text() for name in ("one", "two"))
    assert one == two.replace("two-videos", "one-videos").replace("two-tables", "one-tables")
    first, second = (sorted((tmp_path / f"{name}-videos").iterdir()) for name in ("one", "two"))
    assert [path.name for path in first] == [path.name for path in second]
    for left, right in zip(first, second, strict=True):
        assert left.read_bytes() == right.read_bytes().replace(b"two-videos", b"one-videos")


def test_a_video_that_is_gone_costs_its_pictures_only(project: Sources, tmp_path: Path) -> None:
    (tmp_path / "videos/red.mp4").unlink()

    build(project, tmp_path / "page.html", examples=10)

    problems = [data(tmp_path, f"{number:05d}")["film"]["problem"] for number in range(10)]
    assert sum("the frames could not be read" in problem for problem in problems) == 4
    assert sum(problem == "" for problem in problems) == 6


def test_pictures_are_made_for_as_many_videos_as_asked(project: Sources, tmp_path: Path) -> None:
    build(project, tmp_path / "page.html", examples=1)

    assert [path.name for path in sorted((tmp_path / "page-videos").glob("*.jpg"))] == ["00000.jpg"]
    first, second = data(tmp_path, "00000"), data(tmp_path, "00001")
    assert first["film"]["picture"] == "page-videos/00000.jpg"
    assert len(first["film"]["strip"]) == 8 < len(first["film"]["seconds"])  # and those that words looked at
    assert "report.examples" in second["film"]["problem"]
    assert [look["run"] for look in second["looks"]] == [0]


def test_a_damaged_file_of_looks_says_what_makes_it_again(project: Sources, tmp_path: Path) -> None:
    (project.predictions / "attention.safetensors").write_bytes(b"half")

    with pytest.raises(DamageError, match=r"attention\.safetensors") as caught:
        build(project, tmp_path / "page.html")

    assert caught.value.hint == "dvc repro --force caption@attention"


def test_no_runs_and_no_examples_still_make_a_page(project: Sources, tmp_path: Path) -> None:
    outline = Outline(build(project, tmp_path / "page.html", runs=("later",)))

    assert outline.complaints == []
    assert "No run has been scored yet." in outline.text
    assert "dvc repro evaluate@later" in outline.text


def test_a_name_that_is_not_utf8_does_not_cost_the_page(project: Sources, tmp_path: Path) -> None:
    quarantine = project.index / "quarantine.jsonl"
    quarantine.write_text(quarantine.read_text().replace("broken01", "broken\\udcff"))
    edit(project.index / "checksums.json", lambda value: value.update({quarantine.name: file_sha256(quarantine)}))

    assert "broken?" in build(project, tmp_path / "page.html")


def test_show_prints_scores_and_path_without_building(
    project: Sources, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "index.html"
    page.write_text("untouched")

    summary = report.show(["attention", "later"], sources=project, page=page, console=Console())

    printed = capsys.readouterr().out
    assert page.read_text() == "untouched"
    assert str(page) in printed
    assert re.search(r"attention +0\.7200 .* 1\.7280", printed)
    assert re.search(r"most frequent caption +0\.2000", printed)
    assert "dvc repro evaluate@later" in printed
    assert summary["scores"]["attention"]["CIDEr-D"] == pytest.approx(1.728)


def test_show_without_a_page_says_what_makes_it(project: Sources, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no report at .*index\.html") as caught:
        report.show(["attention"], sources=project, page=tmp_path / "index.html", console=QUIET)

    assert caught.value.hint == "dvc repro report"


def test_records_are_flattened_in_a_fixed_order() -> None:
    assert flatten({"b": {"y": [1, 2.5], "x": None}, "a": True}) == [("a", "True"), ("b.x", "None"), ("b.y", "1, 2.5")]


def test_a_long_list_is_cut_with_its_length() -> None:
    ((_, text),) = flatten({"vocabulary": list(range(500))})

    assert text.startswith("0, 1, 2,")
    assert text.endswith("11, … (500 entries)")


def test_amounts_are_short() -> None:
    assert [amount(number) for number in (999, 12_345, 1_234_567)] == ["999", "12.3 k", "1.23 M"]
