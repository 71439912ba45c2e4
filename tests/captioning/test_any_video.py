"""`framescribe caption VIDEO... --run RUN`: any videos, by the same stages that made the run."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.corpus.vocabulary import Vocabulary, write_vocabulary
from tests.clips import tone, write_clip

ONE = ["--profile", "one.yaml"]  # no other processes
VIDEOS = {"red": 20, "green": 30, "blue": 40}
EXTRACTOR = {
    "family": "frames",
    "network": "squeezenet1_1",
    "weights": "random",
    "sampling": {"count": 3},
    "outputs": ["pool"],
}
PARAMS = {
    "dataset": {"name": "demo", "videos": "videos", "annotations": "none"},
    "extract": {"toy": EXTRACTOR},
    "train": {
        "run": {
            "model": "soft_attention",
            "features": {"appearance": "toy"},
            "options": {"hidden_size": 16, "word_size": 8, "attention_size": 8},
            "epochs": 40,
            "patience": 40,
            "learning_rate": 0.02,
            "batch_size": 4,
        }
    },
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run on features of three clips."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", "cache")
        Path("videos").mkdir()
        for name, frames in VIDEOS.items():
            write_clip(Path("videos") / f"{name}.mp4", frames=frames, sound=tone(1, rate=16000))
        Path("params.yaml").write_text(json.dumps(PARAMS))
        Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
        captions = {name: [f"a {name} clip moves", f"the clip is {name}"] for name in VIDEOS}
        corpus = Corpus({"train": list(VIDEOS), "val": list(VIDEOS), "test": list(VIDEOS)}, captions)
        write_corpus(Path("data/captions"), corpus)
        write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary.build(corpus.sentences("train")))
        for arguments in (["decode"], ["extract", "toy"], ["train", "run"], ["caption", "run"]):
            assert main([*arguments, *ONE, "--quiet"]) == 0
    return folder


@pytest.fixture
def project(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "cache")
    return trained


def test_the_same_videos_get_the_same_sentences(project: Path, tmp_path: Path) -> None:
    """Under other names in another folder: the content is what counts."""
    for name in VIDEOS:
        (tmp_path / f"my {name}.mp4").write_bytes((project / "videos" / f"{name}.mp4").read_bytes())

    assert main(["caption", str(tmp_path), "--run", "run", "--out", str(tmp_path / "said.json"), *ONE]) == 0

    ours = json.loads((tmp_path / "said.json").read_text())["predictions"]
    theirs = json.loads((project / "predictions/run.json").read_text())["predictions"]
    assert {name: ours[f"my {name}"] for name in VIDEOS} == theirs


def test_a_bad_file_is_told_and_the_rest_is_captioned(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.mp4").write_text("<html>not a video</html>")
    page = tmp_path / "captions.html"

    code = main(
        ["caption", "videos/red.mp4", str(tmp_path / "page.mp4"), "--run", "run", "--html", str(page), "--json", *ONE]
    )

    assert code == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["unlike"] == {}  # of three training clips nothing can be told
    assert list(summary["captions"]) == ["red"]
    assert summary["refused"]["page"].startswith("not-a-video")
    html = page.read_text()
    assert "Trained on demo: it knows 8 words" in html
    assert "Untrained features: toy" in html
    shown = json.loads(re.search(r'id="inside">(.*?)</script>', html, re.DOTALL).group(1))  # type: ignore[union-attr]
    (video,) = shown["videos"]
    assert (video["id"], " ".join(video["said"][0]["words"])) == ("red", summary["captions"]["red"])
    assert len(video["detail"]["film"]["strip"]) == 8
    assert video["detail"]["film"]["picture"].startswith("data:image/jpeg;base64,")
    assert len(video["detail"]["looks"][0]["time"]) == len(video["said"][0]["words"])
    assert "not-a-video" in html


def test_no_file_is_named_that_is_gone_when_the_command_is_done(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["caption", "videos/red.mp4", "--run", "run", *ONE]) == 0
    told = capfd.readouterr()

    assert "red" in told.out
    assert tempfile.gettempdir() not in told.out + told.err


def test_nothing_usable_is_an_error(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.mp4").write_text("<html>not a video</html>")

    assert main(["caption", str(tmp_path / "page.mp4"), "--run", "run", *ONE]) == 3
    assert "none of these is a usable video" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_told_by_itself(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "videos/nosuch.mp4", "--run", "run", *ONE]) == 3
    told = capsys.readouterr().err
    assert "there is no 'videos/nosuch.mp4'" in told
    assert "give paths of videos" in told


def test_other_features_than_in_training_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = json.loads(json.dumps(PARAMS))
    changed["extract"]["toy"]["sampling"] = {"count": 4}
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(json.dumps(changed))
    for name in ("runs", "features", "one.yaml"):
        Path(name).symlink_to(project / name)

    assert main(["caption", str(project / "videos/red.mp4"), "--run", "run", *ONE]) == 3
    told = capsys.readouterr().err
    assert "sampling.count 3 -> 4" in told
    assert "dvc repro" in told


def test_a_run_that_is_not_there_names_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "videos/red.mp4", "--run", "other", *ONE]) == 3
    assert "dvc repro train@other" in capsys.readouterr().err
