"""VATEX and M-VAD: one file a split."""

import json

import pytest

from pipeline.core.errors import InputError
from pipeline.datasets import load_annotations
from pipeline.params.dataset import Dataset

VATEX = {
    "vatex_training_v1.0.json": ["aaa_000001_000011", "bbb_000001_000011"],
    "vatex_validation_v1.0.json": ["ccc_000001_000011"],
    "vatex_public_test_english_v1.1.json": ["ddd_000001_000011"],
}
MVAD = {
    "corpus_M-VAD_train.txt": "FILM_DVS1\tSomeone walks.\nFILM_DVS1\tHe sits.\nFILM_DVS2.avi\tA door opens.\n",
    "corpus_M-VAD_val.txt": "OTHER_DVS1\tShe waits.\n",
    "corpus_M-VAD_test.txt": "THIRD_DVS1\tNight falls.\n",
}


def vatex(folder, files=VATEX):
    for name, ids in files.items():
        entries = [{"videoID": id_, "enCap": [f"{id_} one", f"{id_} two"], "chCap": ["一"]} for id_ in ids]
        (folder / name).write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8")
    return Dataset(name="vatex", videos="v", annotations=str(folder))


def mvad(folder, files=MVAD):
    for name, text in files.items():
        (folder / name).write_text(text)
    return Dataset(name="mvad", videos="v", annotations=str(folder))


def test_vatex_takes_the_english_captions_of_three_files(tmp_path):
    annotations = load_annotations(vatex(tmp_path))
    assert list(annotations.splits.values()) == list(VATEX.values())
    assert annotations.captions["ccc_000001_000011"] == ["ccc_000001_000011 one", "ccc_000001_000011 two"]


def test_vatex_works_without_test_captions(tmp_path):
    dataset = vatex(tmp_path)
    (tmp_path / "vatex_public_test_english_v1.1.json").unlink()
    assert load_annotations(dataset).splits["test"] == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vatex_training_v1.0.json", '[{"videoID": "x"}]', "vatex_training_v1.0.json .*0.enCap: Field required"),
        ("vatex_training_v1.0.json", '[{"videoID": "x", "enCap": []}]', r"videos without captions \(1\): x"),
        (
            "vatex_validation_v1.0.json",
            '[{"videoID": "aaa_000001_000011", "enCap": ["y"]}]',
            r"duplicate video ids \(1\)",
        ),
        ("vatex_validation_v1.0.json", '{"videos": []}', "the top level: Input should be a valid array"),
    ],
)
def test_bad_vatex_files_are_named(tmp_path, name, content, message):
    dataset = vatex(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_annotations(dataset)


@pytest.mark.parametrize("missing", ["vatex_training_v1.0.json", "vatex_validation_v1.0.json"])
def test_vatex_needs_training_and_validation(tmp_path, missing):
    dataset = vatex(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(InputError, match=f"looked for {missing}"):
        load_annotations(dataset)


def test_mvad_clips_may_have_several_sentences(tmp_path):
    annotations = load_annotations(mvad(tmp_path))
    assert annotations.splits == {"train": ["FILM_DVS1", "FILM_DVS2"], "val": ["OTHER_DVS1"], "test": ["THIRD_DVS1"]}
    assert annotations.captions["FILM_DVS1"] == ["Someone walks.", "He sits."]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpus_M-VAD_val.txt": "OTHER_DVS1 no tab\n"}, "corpus_M-VAD_val.txt, line 1: expected a clip, a tab"),
        ({"corpus_M-VAD_val.txt": "FILM_DVS1\tAgain.\n"}, r"duplicate video ids \(1\): FILM_DVS1"),
        ({"corpus_M-VAD_val.txt": "OTHER_DVS1\t\n"}, r"videos with an empty caption \(1\): OTHER_DVS1"),
    ],
)
def test_bad_mvad_files_are_named(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        load_annotations(mvad(tmp_path, MVAD | changes))


@pytest.mark.parametrize("name", ["vatex", "mvad"])
def test_a_file_where_a_folder_is_needed(tmp_path, name):
    path = tmp_path / "one.json"
    path.write_text("[]")
    with pytest.raises(InputError, match="is not a folder"):
        load_annotations(Dataset(name=name, videos="v", annotations=str(path)))
