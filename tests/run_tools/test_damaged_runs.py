"""Files that no export wrote: each is refused in words, before anything of it is used."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cli import main
from pipeline.core import sealed
from pipeline.run_tools.run_file import PARTS, open_run_file, write_run_file
from pipeline.store import TensorFile

SEAL_AT = 8 + len(b'{"__metadata__":{"header":"')
Damage = Callable[[Path], None]


def rewritten(change: Callable[[dict[str, np.ndarray]], object]) -> Damage:
    """With other parts, and right sums of them: what someone could make who knows how."""

    def damage(path: Path) -> None:
        parts = {name: np.array(part) for name, part in open_run_file(path).parts.items()}
        change(parts)
        write_run_file(path, run="run", parts=parts)

    return damage


def of_json(name: str, change: Callable[[Any], object]) -> Damage:
    def changed(parts: dict[str, np.ndarray]) -> None:
        value = json.loads(parts[name].tobytes())
        change(value)
        parts[name] = as_part(json.dumps(value))

    return rewritten(changed)


def of_header(change: Callable[[str], str]) -> Damage:
    """With another header, and its right sum."""

    def damage(path: Path) -> None:
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        text = change(data[8 : 8 + length].decode().replace(data[SEAL_AT : SEAL_AT + 64].decode(), "0" * 64)).encode()
        header = sealed(len(text).to_bytes(8, "little") + text, at=SEAL_AT)
        path.write_bytes(header + data[8 + length :])

    return damage


def as_part(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zipped(path: Path) -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("../run.json", "{}")
    path.write_bytes(memory.getvalue())


def text(path: Path) -> None:
    path.write_text("dear colleague, here is the run " * 20)


def another_file_of_ours(path: Path) -> None:
    path.write_bytes((path.parent / "weights.safetensors").read_bytes())


def wrong_entry(params: Any) -> None:
    params["extract"]["own"]["sampling"] = {"count": 3}


def other_model(parts: dict[str, np.ndarray]) -> None:
    parts["model.safetensors"] = parts["weights/mine"]


def doubled(header: str) -> str:
    """Both with the same bytes, the first under another type's name."""
    place = header.index('"card.md":{')
    return header[:place] + '"card.md":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},' + header[place:]


DAMAGES: dict[str, tuple[Damage, int, str]] = {
    "truncated": (cut, 6, "its header says"),
    "empty": (emptied, 3, "is no file that `framescribe runs export` wrote"),
    "a zip": (zipped, 3, "is no file that `framescribe runs export` wrote"),
    "a text": (text, 3, "is no file that `framescribe runs export` wrote"),
    "another file of ours": (another_file_of_ours, 3, "not a run that was exported"),
    "a part missing": (rewritten(lambda parts: parts.pop("run.json")), 3, "lacks run.json"),
    "a part twice": (of_header(doubled), 3, "a part twice"),
    "a name that leads elsewhere": (
        rewritten(lambda parts: parts.update({"../../.bashrc": as_part("x")})),
        3,
        "a part that no export has: ../../.bashrc",
    ),
    "weights that lead elsewhere": (
        rewritten(lambda parts: parts.update({"weights/../../x": as_part("x")})),
        3,
        "a part that no export has: weights/../../x",
    ),
    "a run that leads elsewhere": (
        of_json("run.json", lambda record: record.update(run="../../x")),
        3,
        "has no checksum|leads elsewhere",
    ),
    "a store that leads elsewhere": (
        of_json("run.json", lambda record: record["params"]["features"].update(appearance="../../x")),
        3,
        "leads elsewhere",
    ),
    "a huge size": (
        of_header(lambda header: header.replace('"data_offsets":[0,', '"data_offsets":[0,99999999999999')),
        6,
        "its header says",
    ),
    "a header of bombs": (of_header(lambda header: header[: SEAL_AT + 60] + "[" * 100_000), 3, "no run that an export"),
    "another version": (
        of_header(lambda header: header.replace('"version":"1"', '"version":"2"')),
        3,
        "is of version 2; this framescribe reads 1",
    ),
    "a wrong extractor entry": (of_json("params.json", wrong_entry), 3, "sampling.count 2 -> 3"),
    "an unknown key": (of_json("params.json", lambda params: params.update(shall="be")), 3, "shall: unknown key"),
    "no JSON": (rewritten(lambda parts: parts.update({"params.json": as_part("{")})), 3, "no run that an export"),
    "other weights": (
        rewritten(lambda parts: parts.update({"weights/mine": as_part("x")})),
        3,
        "are not those that its features were made with",
    ),
    "weights without a licence": (
        of_json("weights.json", lambda needed: needed["mine"].update(licence=5)),
        3,
        "weights.json says other things",
    ),
    "the model of another": (rewritten(other_model), 3, "its model|model.safetensors"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_refused_in_words(trained: Path, elsewhere: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, code, told = DAMAGES[damage]
    file = elsewhere / "mine.run"
    file.write_bytes((trained / "exported/whole.run").read_bytes())
    (elsewhere / "weights.safetensors").write_bytes((trained / "weights/mine.safetensors").read_bytes())
    change(file)

    found = main(["caption", "clip.mp4", "--run", "mine.run"])

    message = capsys.readouterr().err
    assert any(each in message for each in told.split("|")), message
    assert message.startswith("framescribe caption: ")
    assert "next: " in message
    assert (found in (3, 6)) if "|" in told else found == code
    assert {path.name for path in elsewhere.iterdir()} == {"clip.mp4", "mine.run", "weights.safetensors"}


@pytest.mark.parametrize("part", ["", "length", *PARTS, "weights/mine"])
def test_one_flipped_bit_in_any_part_is_refused(trained: Path, elsewhere: Path, part: str) -> None:
    file = elsewhere / "mine.run"
    data = bytearray((trained / "exported/whole.run").read_bytes())
    data[place_of(trained / "exported/whole.run", part)] ^= 4
    file.write_bytes(data)

    assert main(["runs", "show", "mine.run"]) in (3, 6)


def place_of(path: Path, part: str) -> int:
    """Of a byte in the middle of a part, in the header, or in what says how long that is."""
    data = path.read_bytes()
    return {"length": 1, "": SEAL_AT + 200}.get(part) or data.index(middle(path, part))


def middle(path: Path, part: str) -> bytes:
    found = TensorFile(path)[part].tobytes()
    return found[len(found) // 2 :][:4000]
