"""From a publisher's folder to a feature store with the real commands, beside what transformers itself gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.store import open_store
from tests.clips import judged_frames, tone, write_clip
from tests.extractors.tiny_transformers import published_folder

library = pytest.importorskip("transformers", reason="the extra `transformers` is not installed")
FRAMES = 50
SAMPLING: dict[str, dict[str, Any]] = {
    "clip": {"every": 10},
    "videomae": {"every": 5, "window": 4, "stride": 4, "tail": "pad"},
    "whisper": {"hop": 2.0},
}
OUTPUTS = {"clip": ["embed", "pool"], "videomae": ["pool"], "whisper": ["pool", "hidden.1"]}


def entry(network: str) -> dict[str, Any]:
    return {
        "family": "transformers",
        "network": f"transformers:{network}",
        "weights": f"transformers:my-{network}",
        "sampling": SAMPLING[network],
        "outputs": OUTPUTS[network],
    }


def command(*arguments: str) -> None:
    assert main([*arguments, "--quiet"]) == 0, arguments


@pytest.fixture
def made(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clip with sound, three imported folders, and the stores of `framescribe extract`."""
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "cache"))
    (project / "videos").mkdir()
    sound = {"sound": tone(2.0, rate=16_000), "sound_codec": "pcm_s16le"}
    write_clip(project / "videos/clip.mkv", frames=FRAMES, **sound)  # type: ignore[arg-type]
    params = YAML(typ="safe").load((project / "params.yaml").read_text())
    params["dataset"]["videos"] = "videos"
    params["extract"] = {f"my_{network}": entry(network) for network in SAMPLING}
    with (project / "params.yaml").open("w") as stream:
        YAML(typ="safe").dump(params, stream)
    command("decode")
    for network in SAMPLING:
        folder = published_folder(network, project / "published" / network)
        command("weights", "import", f"transformers:my-{network}", str(folder))
        command("extract", f"my_{network}")
    return project


def test_three_folders_become_features_of_a_clip(made: Path) -> None:
    frames = judged_frames(made / "videos/clip.mkv")
    rows = {network: open_store(made / f"features/my_{network}")["clip"] for network in SAMPLING}
    models = {name: library.AutoModel.from_pretrained(made / "published" / name).eval() for name in SAMPLING}
    pictures = library.AutoImageProcessor.from_pretrained(made / "published/clip")
    windows = library.AutoImageProcessor.from_pretrained(made / "published/videomae")
    ears = library.AutoFeatureExtractor.from_pretrained(made / "published/whisper")
    with torch.no_grad():
        seen = models["clip"].get_image_features(**pictures(frames[::10], return_tensors="pt")).pooler_output
        chosen = frames[::5]
        clips = [chosen[:4], chosen[4:8], [*chosen[8:], *[chosen[-1]] * 2]]
        moved = models["videomae"](**windows(clips, return_tensors="pt")).last_hidden_state.mean(1)
        sound = ears(tone(2.0, rate=16_000)[0], sampling_rate=16_000, return_tensors="pt")
        heard = models["whisper"].encoder(**sound).last_hidden_state.mean(1)

    require_close(rows["clip"]["embed"], seen)
    require_close(rows["videomae"]["pool"], moved)
    require_close(rows["whisper"]["pool"], heard, tolerance=1e-3)  # the sound was in 16-bit numbers
    assert rows["whisper"]["hidden.1"].shape == (1, 100, 32)
    assert rows["videomae"].rows.valid.tolist() == [4, 4, 2]


def require_close(found: np.ndarray, expected: torch.Tensor, *, tolerance: float = 1e-5) -> None:
    assert found.shape == tuple(expected.shape)
    assert np.linalg.norm(found - expected.numpy()) < tolerance * float(expected.norm())


def test_a_store_says_what_it_was_made_of_and_another_processor_makes_another(made: Path) -> None:
    before = open_store(made / "features/my_clip").manifest["fingerprint"]
    path = made / "published/clip/preprocessor_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"image_mean": [0.0, 0.0, 0.0]}))

    command("weights", "import", "transformers:my-clip", str(path.parent))
    command("extract", "my_clip")

    after = open_store(made / "features/my_clip").manifest["fingerprint"]
    assert before["libraries"]["transformers"] == library.__version__
    assert before["preprocessing"]["processor"] == "CLIPImageProcessor"
    assert after["weights"] != before["weights"]
    assert after["preprocessing"]["image_mean"] == [0.0, 0.0, 0.0]
