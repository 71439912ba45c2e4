"""A plain folder of videos: a table of captions as CSV or JSON, or none at all."""

import json
import unicodedata
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.errors import InputError
from pipeline.datasets.plain_folder import load_plain_folder
from pipeline.params import Subset
from pipeline.params.file import load_params

CSV = """video,caption,split
beach.mp4,"a dog, and a man, run",test
beach.mp4,a dog runs along the water,test
clips/hill.MOV,a man climbs,
v1.5,a bird sings,validate
"""
ROWS = [
    {"video": "beach.mp4", "caption": "a dog, and a man, run", "split": "test"},
    {"video": "beach", "caption": "a dog runs along the water", "split": "test"},
    {"video": "hill", "caption": "a man climbs"},
    {"video": "v1.5", "caption": "a bird sings", "split": "val"},
]


def as_csv(folder):
    path = folder / "captions.csv"
    path.write_text(CSV)
    return path


def as_csv_of_a_spreadsheet(folder):
    path = folder / "captions.csv"
    path.write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode())
    return path


def as_unicode_text_of_a_spreadsheet(folder):
    path = folder / "captions.csv"
    path.write_bytes(
        CSV.replace(",split", "\t Split")
        .replace("video,c", "Video\tC")
        .replace(",test", "\ttest")
        .replace("mp4,", "mp4\t")
        .replace("MOV,", "MOV\t")
        .replace("climbs,", "climbs\t")
        .replace("v1.5,", "v1.5\t")
        .replace(",validate", "\tvalidate")
        .encode("utf-16")
    )
    return path


def with_semicolons_and_folders_of_windows(folder):
    path = folder / "captions.csv"
    path.write_text(
        "video;caption;split\nC:\\raw\\beach.mp4;a dog, and a man, run;test\n"
        "beach.mp4;a dog runs along the water;test\nhill.mov;a man climbs;\nv1.5;a bird sings;validate\n"
    )
    return path


def as_json(folder):
    path = folder / "captions.json"
    path.write_text(json.dumps(ROWS))
    return path


def with_words_for_splits_and_cells_of_a_spreadsheet(folder):
    path = folder / "captions.csv"
    path.write_text(CSV.replace("validate", "Validation").replace(",test", ",TEST,, "))
    return path


def as_json_with_lists(folder):
    path = folder / "captions.json"
    beach = {"video": "beach.mp4", "captions": [row["caption"] for row in ROWS[:2]], "split": "test"}
    path.write_text(json.dumps([beach, *ROWS[2:]]))
    return path


@pytest.mark.parametrize(
    "write",
    [
        as_csv,
        as_csv_of_a_spreadsheet,
        as_unicode_text_of_a_spreadsheet,
        with_semicolons_and_folders_of_windows,
        with_words_for_splits_and_cells_of_a_spreadsheet,
        as_json,
        as_json_with_lists,
    ],
)
def test_both_formats_say_the_same(tmp_path, write):
    annotations = load_plain_folder(write(tmp_path))

    assert annotations.splits == {"train": ["hill"], "val": ["v1.5"], "test": ["beach"]}
    assert annotations.captions["beach"] == ["a dog, and a man, run", "a dog runs along the water"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,text\na,b\n", "has no column video, caption; its first line has: name, text"),
        ("", "has no column video, caption; its first line has: nothing"),
        ("video,caption\na,one, two, three\n", "line 2: more cells than columns:  two, three"),
        ('video,caption\na,"one\nb,two\n', "line 3: unexpected end of data"),
        ("video,caption\na,\nb,  \n", "none of its 2 lines has a caption"),
        ("video,caption,split\na,one,dev\n", "the split 'dev'; allowed: train, validate, validation, val, test"),
        ("video,caption,split\na,one,test\na.mp4,two,train\n", r"in several splits \(1\): a"),
        ('[{"video": "a"}]', r"0\.caption: Field required"),
        ('[{"video": "a", "caption": [null]}]', r"0\.caption\.0: Input should be a valid string"),
        ('{"beach.mp4": ["a dog", 3]}', r"beach\.mp4\.1: Input should be a valid string"),
        ("[3]", r"0: Input should be an object"),
    ],
)
def test_a_wrong_table_is_told_in_words(tmp_path, text, message):
    path = tmp_path / ("captions.json" if text[:1] in ("[", "{") else "captions.csv")
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_plain_folder(path)


def test_json_of_names_and_their_sentences(tmp_path):
    path = tmp_path / "captions.json"
    path.write_text('{"beach.mp4": ["a dog runs", "a dog, and a man"], "hill": "a man climbs"}')

    assert load_plain_folder(path).captions == {"beach": ["a dog runs", "a dog, and a man"], "hill": ["a man climbs"]}


def test_another_encoding_is_told_with_what_to_do(tmp_path):
    path = tmp_path / "captions.csv"
    path.write_bytes("video,caption\na,un café\n".encode("latin-1"))
    with pytest.raises(InputError, match="byte 22 is 0xe9") as caught:
        load_plain_folder(path)
    assert "CSV UTF-8" in caught.value.hint


@pytest.fixture
def clips(project):
    (project / "clips").mkdir()
    for number in range(10):
        (project / f"clips/clip{number}.mp4").touch()
    return project


def test_captions_without_splits_are_divided_by_themselves(clips, capsys):
    rows = "".join(f"clip{number}.mp4,a dog runs\n" for number in range(10))
    Path("captions.csv").write_text(f"video,caption\n{rows}")
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    dataset = load_params().dataset

    assert (dataset.name, dataset.annotations, dataset.subset) == ("folder", "captions.csv", Subset())
    assert "4 of 10 videos are in another split" in capsys.readouterr().out


def test_names_that_do_not_fit_are_shown_from_both_sides(clips, capsys):
    Path("captions.csv").write_text("video,caption\nClip0.mp4,a dog\nCLIP1.mp4,a cat\n")
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 3
    told = capsys.readouterr().err

    assert "captions without a video (2): Clip0, CLIP1; videos without captions (10): clip0, clip1" in told


def test_a_table_among_the_videos_is_not_passed_over(clips, capsys):
    Path("clips/captions.csv").write_text("video,caption\nclip0.mp4,a dog\n")
    before = Path("params.yaml").read_text()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 3

    assert "--annotations clips/captions.csv" in capsys.readouterr().err
    assert not Path("captions.csv").exists()
    assert Path("params.yaml").read_text() == before


def test_a_mistyped_table_is_not_written(clips, capsys):
    assert main(["dataset", "use", "folder", "--videos", "clips", "--annotations", "captons.csv"]) == 3

    assert "there is no captons.csv" in capsys.readouterr().err
    assert not Path("captons.csv").exists()


def test_what_a_desktop_leaves_in_a_folder_is_no_video(clips):
    for name in ("Thumbs.db", "desktop.ini", "captions.xlsx", "own.run", ".DS_Store"):
        (clips / "clips" / name).touch()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0

    assert len(Path("captions.csv").read_text().splitlines()) == 11


def test_captions_in_other_letters_are_told_before_anything_is_computed(clips, capsys):
    """Words are of a-z: of Chinese nothing is left, of German some words fall apart."""
    rows = ["clip0.mp4,ein Mädchen läuft", "clip1.mp4,a dog runs", "clip2.mp4,a café"]
    Path("captions.csv").write_text("\n".join(["video,caption", *rows]))
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    told = "letters besides a-z end a word, in 2 of 3 captions: Mädchen becomes m dchen, läuft becomes l uft"
    assert told in capsys.readouterr().out

    Path("captions.csv").write_text("\n".join(["video,caption", *rows, "clip3.mp4,一个人在跑"]))
    before = Path("params.yaml").read_text()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 3
    assert "videos whose captions have no word in a-z or 0-9 (1): clip3" in capsys.readouterr().err
    assert Path("params.yaml").read_text() == before


def test_without_captions_a_table_is_written_to_be_filled_in_and_the_graph_can_extract(clips, capsys):
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    assert "dvc repro extract makes features" in capsys.readouterr().out
    assert Path("captions.csv").read_text().splitlines()[:2] == ["video,caption,split", "clip0,,"]
    assert load_params().dataset.videos == "clips"

    assert main(["dataset", "show"]) == 3
    assert "none of its 10 lines has a caption" in capsys.readouterr().err

    filled = Path("captions.csv").read_text().replace(",,", ",a dog runs,")
    Path("captions.csv").write_text(filled)
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    assert Path("captions.csv").read_text() == filled


def test_an_accent_may_be_a_part_of_its_letter_or_stand_after_it(clips, capsys):
    for number, form in enumerate(["NFC", "NFD"] * 2):
        Path(f"clips/{unicodedata.normalize(form, f'café{number}')}.mp4").touch()
    rows = [
        f"{unicodedata.normalize(form, f'café{n}')}.mp4,a dog" for n, form in enumerate(["NFD", "NFC", "NFC", "NFD"])
    ]
    Path("captions.csv").write_text("\n".join(["video,caption", *rows]))
    assert main(["dataset", "use", "folder", "--videos", "clips", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["splits"]["train"]["with_file"] == 4


def test_the_other_data_sets_still_want_their_annotations(clips, capsys):
    assert main(["dataset", "use", "msvd", "--videos", "clips"]) == 2
    assert "--annotations is missing" in capsys.readouterr().err
