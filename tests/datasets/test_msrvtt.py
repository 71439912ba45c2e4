"""MSR-VTT's format: files, folders, zips, split rules, and everything that can be wrong with them."""

import json
import zipfile
from pathlib import Path

import pytest

from pipeline.core.errors import InputError, UsageError
from pipeline.datasets import load_annotations
from pipeline.datasets.msrvtt import load_msrvtt
from pipeline.params.dataset import Dataset

REAL = Path(__file__).parents[3] / "shared/data/msrvtt"


def info(videos, *, per_video=2, first_sentence=0):
    """A document with some sentences for each (id, split)."""
    sentences = [
        {"video_id": id_, "caption": f"{id_} sentence {number}", "sen_id": first_sentence + per_video * place + number}
        for place, (id_, _) in enumerate(videos)
        for number in range(per_video)
    ]
    return {"info": {}, "videos": [{"video_id": id_, "split": split} for id_, split in videos], "sentences": sentences}


SMALL = info([("clip_b", "train"), ("clip_a", "train"), ("clip_c", "validate"), ("clip_d", "test")])


def write(path, document):
    path.write_text(json.dumps(document))
    return path


def changed(**changes):
    return SMALL | changes


def demo(path):
    return Dataset(name="demo", videos="videos", annotations=str(path))


def test_own_split_field_keeps_the_order_of_the_file(tmp_path):
    annotations = load_annotations(demo(write(tmp_path / "annotations.json", SMALL)))
    assert annotations.splits == {"train": ["clip_b", "clip_a"], "val": ["clip_c"], "test": ["clip_d"]}
    assert annotations.captions["clip_a"] == ["clip_a sentence 0", "clip_a sentence 1"]
    assert annotations.counts["train"] == {"videos": 2, "captions": 4}


def test_slices_are_read_where_given(tmp_path):
    document = json.loads(json.dumps(SMALL))
    document["videos"][1]["slice"] = "order"
    assert load_annotations(demo(write(tmp_path / "a.json", document))).slices == {"clip_a": "order"}


def test_standard_split_goes_by_number_when_the_file_says_train_for_all(tmp_path):
    edges = ["video0", "video6512", "video6513", "video7009", "video7010", "video9999"]
    path = write(tmp_path / "videodatainfo_2017.json", info([(id_, "train") for id_ in edges]))
    splits = load_msrvtt(path, rule="standard").splits
    assert splits == {"train": edges[:2], "val": edges[2:4], "test": edges[4:]}


def test_dualafr_tests_on_the_last_thousand_of_the_training_videos(tmp_path):
    ids = ["video0", "video5512", "video5513", "video6512", "video6513", "video7009", "video7010"]
    annotations = load_msrvtt(write(tmp_path / "a.json", info([(id_, "train") for id_ in ids])), rule="dualafr")
    assert annotations.splits == {"train": ids[:2], "test": ids[2:4], "val": ids[4:6]}
    assert "video7010" in annotations.captions  # annotated, though in no split


def test_folder_of_two_files_plain_or_zipped(tmp_path):
    train_val = info([("video1", "train"), ("video6600", "validate")])
    test = info([("video8000", "test")], first_sentence=100)
    write(tmp_path / "test_videodatainfo.json", test)
    with zipfile.ZipFile(tmp_path / "train_val_annotation.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
        archive.writestr("inner/train_val_videodatainfo.json", json.dumps(train_val))
    splits = load_msrvtt(tmp_path, rule="standard").splits
    assert splits == {"train": ["video1"], "val": ["video6600"], "test": ["video8000"]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test_videodatainfo.json", "train_val_annotation.zip"]


def test_a_zip_can_be_given_itself(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("videodatainfo_2017.json", json.dumps(SMALL))
    assert load_msrvtt(tmp_path / "a.zip", rule="file").splits["test"] == ["clip_d"]


def no_caption():
    sentences = [{key: value for key, value in one.items() if key != "caption"} for one in SMALL["sentences"]]
    return changed(sentences=sentences)


BAD = {
    "duplicate video ids (1): clip_a": changed(videos=[*SMALL["videos"], {"video_id": "clip_a", "split": "test"}]),
    "duplicate sentence ids (1): 3": changed(
        sentences=[*SMALL["sentences"], {"video_id": "clip_a", "caption": "again", "sen_id": 3}]
    ),
    "sentences of videos that are not listed (1): clip_z": changed(
        sentences=[*SMALL["sentences"], {"video_id": "clip_z", "caption": "who", "sen_id": 99}]
    ),
    "videos without captions (1): clip_z": changed(videos=[*SMALL["videos"], {"video_id": "clip_z", "split": "test"}]),
    "videos with an empty caption (1): clip_a": changed(
        sentences=[*SMALL["sentences"], {"video_id": "clip_a", "caption": " ", "sen_id": 99}]
    ),
    "sentences.0.caption: Field required (and 7 more problems)": no_caption(),
    "videos: Field required": {"sentences": []},
    "the top level: Input should be": [1, 2],
    "puts nowhere (1): clip_y": changed(videos=[*SMALL["videos"], {"video_id": "clip_y", "split": "holdout"}]),
    "there is no train video": info([("clip_a", "val")]),
    "there is no val video": info([("clip_a", "train")]),
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_named_with_its_file(tmp_path, message):
    path = write(tmp_path / "annotations.json", BAD[message])
    with pytest.raises(InputError) as caught:
        load_annotations(demo(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"videos": [\n  {"video_id": }', "not valid JSON: expected value at line 2 column 16"),
        (b"", "not valid JSON"),
        (b'{"videos": "\xff"}', "not valid JSON: invalid unicode code point at line 1 column 13"),
        (b"[" * 100_000, "recursion limit exceeded"),
        (rb'{"videos": "\ud800"}', "unexpected end of hex escape at line 1 column 19"),
    ],
)
def test_malformed_files_say_where(tmp_path, content, message):
    path = tmp_path / "annotations.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"annotations\.json") as caught:
        load_annotations(demo(path))
    assert message in str(caught.value)


def test_long_lists_of_ids_are_cut(tmp_path):
    videos = [{"video_id": f"extra{number}", "split": "train"} for number in range(40)]
    with pytest.raises(InputError, match=r"\(40\): extra0, extra1, extra2, extra3, extra4 and 35 more"):
        load_annotations(demo(write(tmp_path / "a.json", changed(videos=[*SMALL["videos"], *videos]))))


def test_names_that_the_standard_split_does_not_know_point_to_the_rule(tmp_path):
    path = write(tmp_path / "a.json", SMALL)
    with pytest.raises(InputError, match=r"puts nowhere \(4\): clip_b.*\n.*video0 to video9999"):
        load_msrvtt(path, rule="standard")


def test_missing_file_and_empty_folder_say_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"nothing.json does not exist\n.*demo-data"):
        load_annotations(demo(tmp_path / "nothing.json"))
    with pytest.raises(InputError, match=r"looked for train_val_videodatainfo.json"):
        load_annotations(Dataset(name="msrvtt", videos="v", annotations=str(tmp_path)))


def test_unknown_split_rule_lists_the_rules():
    with pytest.raises(UsageError, match="no split rule 'karpathy'; it has: standard, dualafr, file"):
        load_annotations(Dataset(name="msrvtt", videos="v", annotations=".", split="karpathy"))


def test_a_damaged_zip_or_one_without_annotations_is_refused(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(InputError, match="cannot be read as a zip"):
        load_msrvtt(tmp_path / "a.zip", rule="file")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"it holds readme\.txt"):
        load_msrvtt(tmp_path / "b.zip", rule="file")


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.datasets.sources.MAX_MEMBER", 10)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("videodatainfo_2017.json", json.dumps(SMALL))
    with pytest.raises(InputError, match="allowed: 10"):
        load_msrvtt(tmp_path / "a.zip", rule="file")


@pytest.mark.skipif(not REAL.is_dir(), reason="the real MSR-VTT annotation files are not beside the project")
def test_real_annotation_files_have_the_published_counts():
    standard = load_annotations(Dataset(name="msrvtt", videos="v", annotations=str(REAL))).counts
    assert {split: count["videos"] for split, count in standard.items()} == {"train": 6513, "val": 497, "test": 2990}
    assert {split: count["captions"] for split, count in standard.items()} == {
        "train": 130_260,
        "val": 9_940,
        "test": 59_800,
    }
    dualafr = load_annotations(Dataset(name="msrvtt", videos="v", annotations=str(REAL), split="dualafr")).counts
    assert {split: count["videos"] for split, count in dualafr.items()} == {"train": 5513, "val": 497, "test": 1000}
    assert load_msrvtt(REAL, rule="file").splits == load_msrvtt(REAL, rule="standard").splits
