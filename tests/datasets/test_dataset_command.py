"""`framescribe dataset`: params.yaml changes only after everything was checked, and only in its own section."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.params.file import load_params

PARAMS = """\
# What changes results.
dataset:               # rewritten by a command
  name: demo           # the format
  videos: data/demo/videos
  annotations: data/demo/annotations.json

decode:
  max_failed: 3        # tolerated

extract:
  net: # one backbone
    family: frames
    network: "tiny"
    weights: random
    sampling: {every: 5}   # flow style
    outputs:
      - pool
      - map
train: {}
"""
VIDEOS = {"video0": "train", "video5600": "train", "video6600": "validate", "video8000": "test"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A params file, a folder of (empty) video files outside the project, and their annotations."""
    (tmp_path / "project").mkdir()
    (tmp_path / "raw").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("params.yaml").write_text(PARAMS)
    for id_ in VIDEOS:
        (tmp_path / f"raw/{id_}.mp4").touch()
    document = {
        "videos": [{"video_id": id_, "split": split} for id_, split in VIDEOS.items()],
        "sentences": [{"video_id": id_, "caption": f"a caption of {id_}"} for id_ in VIDEOS],
    }
    (tmp_path / "info.json").write_text(json.dumps(document))
    return tmp_path


def use(*options, name="msrvtt", videos="../raw", annotations="../info.json"):
    return main(["dataset", "use", name, "--videos", videos, "--annotations", annotations, *options])


def test_rewrites_its_section_and_keeps_everything_else(project, capsys):
    assert use() == 0
    expected = (
        PARAMS.replace("name: demo  ", "name: msrvtt")
        .replace("data/demo/videos", "../raw")
        .replace("data/demo/annotations.json", "../info.json")
    )
    assert Path("params.yaml").read_text() == expected
    assert load_params().dataset.name == "msrvtt"
    shown = capsys.readouterr().out
    assert "train" in shown
    assert "dvc repro" in shown


def test_a_split_rule_is_added_inside_the_section(project):
    assert use("--split", "dualafr", "--unmatched", "ignore") == 0
    assert load_params().dataset.split == "dualafr"
    assert load_params().dataset.unmatched == "ignore"
    text = Path("params.yaml").read_text()
    assert text.partition("\ndecode:")[2] == PARAMS.partition("\ndecode:")[2]
    assert "../info.json\n\ndecode:" in text
    assert use() == 0  # back to the defaults
    assert (load_params().dataset.split, load_params().dataset.unmatched) == ("standard", "error")


def test_using_the_same_data_set_again_changes_nothing(project):
    use()
    before = Path("params.yaml").read_bytes()
    use()
    assert Path("params.yaml").read_bytes() == before


def test_json_summary_counts_each_split(project, capsys):
    assert use("--split", "dualafr") == 0
    capsys.readouterr()
    assert main(["dataset", "--json", "show"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert main(["dataset", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == summary
    assert summary["splits"]["test"] == {"videos": 1, "captions": 1, "with_file": 1}
    assert summary["files"] == 4
    assert summary["dataset"]["split"] == "dualafr"


def remove_video(folder):
    (folder / "raw/video8000.mp4").unlink()


def add_video(folder):
    (folder / "raw/holiday.mp4").touch()


def same_id_twice(folder):
    (folder / "raw/video0.avi").touch()


def empty_folder(folder):
    for path in (folder / "raw").iterdir():
        path.rename(path.with_suffix(".txt"))


def missing_folder(folder):
    (folder / "raw").rename(folder / "elsewhere")


def malformed_json(folder):
    (folder / "info.json").write_text('{"videos": [}')


def missing_annotations(folder):
    (folder / "info.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_video, "captions without a video (1): video8000"),
        (add_video, "videos without captions (1): holiday"),
        (same_id_twice, "would both have the id 'video0'"),
        (empty_folder, "'../raw' holds no files"),
        (missing_folder, "there is no '../raw'"),
        (malformed_json, "../info.json is not valid JSON: expected value at line 1 column 13"),
        (missing_annotations, "../info.json does not exist"),
    ],
)
def test_bad_input_is_named_and_nothing_is_rewritten(project, capsys, damage, message):
    damage(project)
    assert use() == 3
    assert message in capsys.readouterr().err
    assert Path("params.yaml").read_text() == PARAMS


def test_unknown_split_rule_is_a_usage_error(project, capsys):
    assert use("--split", "half") == 2
    assert "it has: standard, dualafr, file" in capsys.readouterr().err
    assert Path("params.yaml").read_text() == PARAMS


def test_unmatched_ignore_accepts_and_names_what_is_left_out(project, capsys):
    remove_video(project)
    add_video(project)
    assert use("--unmatched", "ignore") == 0
    assert "captions without a video (1): video8000; videos without captions (1): holiday" in capsys.readouterr().out


def test_videos_may_lie_in_folders_below(project):
    (project / "raw/part").mkdir()
    (project / "raw/video0.mp4").rename(project / "raw/part/video0.MP4")
    (project / "raw/.hidden.mp4").touch()
    (project / "raw/readme.txt").touch()
    assert use() == 0


def test_show_reports_a_broken_choice(project, capsys):
    assert main(["dataset", "show"]) == 3
    assert "there is no 'data/demo/videos'" in capsys.readouterr().err


def test_outside_a_project_there_is_nothing_to_rewrite(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    assert use(videos="raw", annotations="info.json") == 2
    assert "params.yaml is not here" in capsys.readouterr().err
