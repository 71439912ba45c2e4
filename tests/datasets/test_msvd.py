"""MSVD: the corpus CSV, the text files, the youtube mapping and the split by clip number."""

from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.datasets import load_annotations, match_videos
from pipeline.datasets.msvd import load_msvd
from pipeline.params.dataset import Dataset

REAL = Path(__file__).parents[3] / "shared/data/msvd"
HEADER = "VideoID,Start,End,WorkerID,Source,AnnotationTime,Language,Description"
MAPPING = (
    "a-_b_1_2 vid1\r\nbbb_3_4 vid1200\r\nccc_5_6 vid1201\r\nddd_7_8 vid1300\r\neee_9_10 vid1301\r\nfff_1_9 vid1970\r\n"
)
SPLITS = {"train": ["vid1", "vid1200"], "val": ["vid1201", "vid1300"], "test": ["vid1301", "vid1970"]}


def csv_row(video, start, end, text, language="English"):
    return f'{video},{start},{end},7,clean,60,{language},"{text}"'


def write_corpus(folder, *extra):
    stems = [line.split()[0].rsplit("_", 2) for line in MAPPING.splitlines()]
    rows = [csv_row(*stem, f"Someone, number {place}.") for place, stem in enumerate(stems)]
    (folder / "video_corpus.csv").write_text("\n".join([HEADER, *rows, *extra]) + "\n", encoding="utf-8")


def write_text(folder, lines, name="captions_train.txt"):
    (folder / name).write_text("\n".join(lines) + "\n")


def test_csv_takes_english_rows_and_splits_by_number(tmp_path):
    (tmp_path / "youtube_mapping.txt").write_text(MAPPING)
    write_corpus(
        tmp_path,
        csv_row("a-_b", 1, 2, "Ein Mann läuft", language="German"),
        csv_row("a-_b", 1, 2, ""),
        csv_row("a-_b", 1, 2, "A second one"),
        csv_row("not_released", 1, 2, "A clip that is not in the mapping"),
    )
    annotations = load_msvd(tmp_path)
    assert annotations.splits == SPLITS
    assert annotations.captions["vid1"] == ["Someone, number 0.", "A second one"]
    assert annotations.files["vid1970"] == "fff_1_9"
    assert "not_released_1_2" in annotations.captions  # known, but in no split


def test_text_files_of_the_splits_are_read_together(tmp_path):
    write_text(tmp_path, ["vid1\ta man walks", "vid1 a man  runs", "# a comment", "", "vid1200\tx"])
    write_text(tmp_path, ["vid1201\ta dog"], name="captions_val.txt")
    annotations = load_msvd(tmp_path)
    assert annotations.captions == {"vid1": ["a man walks", "a man  runs"], "vid1200": ["x"], "vid1201": ["a dog"]}
    assert annotations.splits == {"train": ["vid1", "vid1200"], "val": ["vid1201"], "test": []}


def test_text_file_with_youtube_ids_uses_the_mapping(tmp_path):
    (tmp_path / "youtube_mapping.txt").write_text(MAPPING)
    stems = [line.split()[0] for line in MAPPING.splitlines()]
    write_text(tmp_path, [f"{stem} a caption" for stem in stems], name="AllVideoDescriptions.txt")
    assert load_msvd(tmp_path).splits == SPLITS
    with pytest.raises(InputError, match=r"in no split \(6\): a-_b_1_2"):  # a lone file has no mapping
        load_msvd(tmp_path / "AllVideoDescriptions.txt")


def test_files_may_be_named_by_clip_or_by_youtube_id(tmp_path):
    (tmp_path / "youtube_mapping.txt").write_text(MAPPING)
    write_text(tmp_path, ["vid1 a", "vid1200 b", "vid1201 c"])
    match = match_videos(load_msvd(tmp_path), {"vid1", "bbb_3_4", "zzz_1_1"})
    assert match.files == {"vid1": "vid1", "vid1200": "bbb_3_4"}
    assert match.without_video == ["vid1201"]
    assert match.without_captions == ["zzz_1_1"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["vid1 a", "vid2"], r"captions_train.txt, line 2: expected two fields, found 'vid2'"),
        (["vid1 a", "vid1971 b", "vid0 c"], r"in no split \(2\): vid1971, vid0"),
        (["vid1 a", "abc_1_2 b"], r"in no split \(1\): abc_1_2\n.*youtube_mapping.txt"),
        (["vid1 a"], "no val video"),
    ],
)
def test_bad_text_files_are_named(tmp_path, lines, message):
    write_text(tmp_path, lines)
    with pytest.raises(InputError, match=message):
        load_annotations(Dataset(name="msvd", videos="v", annotations=str(tmp_path)))


def test_csv_needs_its_mapping_and_its_columns(tmp_path):
    write_corpus(tmp_path)
    with pytest.raises(InputError, match=r"youtube_mapping.txt is missing"):
        load_msvd(tmp_path)
    with pytest.raises(InputError, match=r"/video_corpus.csv: youtube_mapping.txt is missing") as caught:
        load_msvd(tmp_path / "video_corpus.csv")  # no mapping is read beside a file that is given
    assert "give their folder" in caught.value.hint
    (tmp_path / "youtube_mapping.txt").write_text(MAPPING)
    (tmp_path / "video_corpus.csv").write_text("VideoID,Start,End,Text\n")
    with pytest.raises(InputError, match="no column Language, Description; it has: VideoID, Start, End, Text"):
        load_msvd(tmp_path)


def test_a_mapping_that_names_a_clip_twice_is_refused(tmp_path):
    (tmp_path / "youtube_mapping.txt").write_text(MAPPING + "ggg_1_2 vid1\n")
    write_text(tmp_path, ["vid1 a"])
    with pytest.raises(InputError, match=r"occur twice \(1\): vid1"):
        load_msvd(tmp_path)


def test_a_folder_without_captions_lists_the_names(tmp_path):
    with pytest.raises(InputError, match=r"looked for video_corpus.csv"):
        load_msvd(tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real MSVD captions are not beside the project")
def test_real_captions_have_the_published_counts():
    annotations = load_msvd(REAL)
    assert annotations.counts["train"] == {"videos": 1200, "captions": 48_774}
    assert annotations.counts["val"] == {"videos": 100, "captions": 4_290}
    assert len(annotations.files) == 1970
    assert annotations.files["vid1301"] == "eyhzdC936uk_15_27"
