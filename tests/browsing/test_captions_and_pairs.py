"""Search over captions, and two runs beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.browsing.caption_library import CLIPS, CaptionFiles, Library, read_library
from pipeline.browsing.run_pair import differing_clips, evaluated_names, evaluation_of, paired_statistics
from pipeline.cli import main
from pipeline.core.errors import InputError, UsageError
from pipeline.corpus import Corpus
from tests.browsing.made_project import write_captions


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    write_captions(root)
    return root


def places(root: Path) -> CaptionFiles:
    return CaptionFiles(root / "data/captions", root / "predictions", root / "evaluation")


def library_of(**sentences: str) -> Library:
    captions = {video: [text] for video, text in sentences.items()}
    return Library(Corpus({"test": sorted(sentences)}, captions), {}, {})


def found(library: Library, query: str, **options: str) -> list[str]:
    return [clip.video for clip in library.search(query, **options).items]


def test_a_clip_has_all_that_was_said_of_it(root: Path) -> None:
    clip = read_library(places(root)).clip("video007")

    assert (clip.split, clip.slice) == ("test", "long")
    assert clip.references == ["a cat sings in the park", "the cat that sings"]
    assert [(said.run, said.caption) for said in clip.said] == [
        ("a", "a cat sings in the park"),
        ("b", "a man sings in the park"),
    ]
    assert (clip.said[0].score or 0) > (clip.said[1].score or 0)


def test_all_words_are_in_one_sentence_and_may_be_cut(root: Path) -> None:
    library = library_of(a="A man is Riding, a horse.", b="a horse", c="humane riders", d="Straße im Schnee")

    assert found(library, "hors rid") == ["a"]
    assert found(library, "man") == ["a"]
    assert found(library, "STRASSE") == ["d"]
    assert found(library, "horse man riding a") == ["a"]
    assert found(library, "") == ["a", "b", "c", "d"]
    assert found(library, "<script>") == []


def test_signs_part_words_of_a_query_as_those_of_a_sentence(root: Path) -> None:
    library = library_of(a="a red-haired woman, who sings", b="a woman's dog")

    assert found(library, "red-haired") == found(library, "Woman, sings!") == ["a"]
    assert found(library, "woman's") == ["b"]
    assert found(library, "...") == []


def test_videos_are_in_the_order_of_their_numbers(root: Path) -> None:
    assert found(library_of(video10="a", video9="a", video1="a", other="a"), "") == [
        "other",
        "video1",
        "video9",
        "video10",
    ]


def test_who_said_it_and_where_narrows_the_search(root: Path) -> None:
    library = read_library(places(root))
    everywhere = library.search("cat").count
    people = library.search("cat", by="people").count

    assert everywhere > people == 5
    assert library.search("cat", by="run a").count == 5
    assert {clip.video for clip in library.search("cat", by="run b").items} != {
        clip.video for clip in library.search("cat", by="run a").items
    }
    assert library.search("cat", by="nobody").count == 0
    assert library.search("cat", by="people", split="test").count == 4
    assert library.search("cat", by="people", slice_="long").count == 5
    assert library.slices == ["long", "short"]


def test_results_come_in_pages(root: Path) -> None:
    shown = read_library(places(root)).search(page=10**25)

    assert (shown.page, shown.pages, shown.count, len(shown.items)) == (2, 2, 30, 30 - CLIPS)


def test_what_cannot_be_read_is_told_and_costs_itself_alone(tmp_path: Path) -> None:
    write_captions(tmp_path)
    file = tmp_path / "predictions/a.json"
    file.write_bytes(file.read_bytes().replace(b"park", b"bark", 1))
    library = read_library(places(tmp_path))

    assert list(library.captions) == ["b"]
    assert any("predictions/a.json" in problem for problem in library.problems)


def test_new_predictions_are_seen(tmp_path: Path) -> None:
    write_captions(tmp_path, runs=("a",))
    before = read_library(places(tmp_path))
    write_captions(tmp_path, runs=("a", "b"))

    assert list(before.captions) == ["a"]
    assert list(read_library(places(tmp_path)).captions) == ["a", "b"]
    assert read_library(places(tmp_path)) is read_library(places(tmp_path))


def test_an_empty_project_has_an_empty_library(tmp_path: Path) -> None:
    library = read_library(places(tmp_path))

    assert (library.videos, library.search("x").count, library.problems) == ([], 0, [])


def test_the_statistics_are_those_of_the_command(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    assert main(["compare", "a", "b", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert json.loads(json.dumps(paired_statistics("a", "b"))) == told


def test_the_clips_that_differ_most_come_first(root: Path) -> None:
    library = read_library(places(root))
    clips = differing_clips("a", "b", library=library, folder=root / "evaluation").items
    gaps = [abs(clip.difference) for clip in clips]

    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0
    assert clips[0].captions[0] != clips[0].captions[1]
    behind = differing_clips("a", "b", library=library, by="second", page=9, folder=root / "evaluation")
    assert behind.items[-1].difference == min(-gap for gap in gaps)
    some = differing_clips("a", "b", library=library, slice_="long", folder=root / "evaluation")
    assert {clip.slice for clip in some.items} == {"long"}
    assert some.count == 15


@pytest.mark.parametrize("name", ["../evaluation/a", "a.json", "", "c", "/etc/passwd", "a\0"])
def test_a_run_is_found_by_its_name_in_the_list_alone(root: Path, name: str) -> None:
    assert evaluated_names(root / "evaluation") == ["a", "b"]
    with pytest.raises(InputError, match="was evaluated; there are: a, b"):
        evaluation_of(name, root / "evaluation")


def test_a_run_is_not_compared_with_itself(root: Path) -> None:
    with pytest.raises(UsageError, match="itself"):
        paired_statistics("a", "a", folder=root / "evaluation")
