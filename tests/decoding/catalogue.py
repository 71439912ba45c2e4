"""The odd and bad clips the tests make for themselves, each with the outcome it must have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import clips

X265 = {"x265-params": "log-level=none"}


@dataclass(frozen=True)
class Case:
    make: Callable[[Path], object]
    frames: int = 0
    size: tuple[int, int] = (96, 80)  # after rotation
    reason: str = ""  # of the quarantine; empty for a usable clip
    warnings: frozenset[str] = frozenset()
    backend: str = ""  # empty: either may be chosen
    lost: int = 0


def clip(**details: object) -> Callable[[Path], object]:
    return lambda path: clips.write_clip(path, **details)  # type: ignore[arg-type]


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


def cut_short(path: Path) -> None:
    clips.write_clip(path, frames=60, container_options={"movflags": "faststart"})
    clips.truncate(path, keep=0.6)


def noise(path: Path) -> None:
    path.write_bytes(b"\xa5" * 65536)
    clips.flip_bits(path, count=65536, start=0, end=1)


def zeroed_middle(path: Path) -> None:
    clips.write_clip(path, frames=60, options={"g": "12"})

    def change(data: bytearray) -> None:
        data[int(len(data) * 0.4) : int(len(data) * 0.6)] = bytes(int(len(data) * 0.6) - int(len(data) * 0.4))

    clips.patch(path, change)


def warned(*codes: str) -> frozenset[str]:
    return frozenset(codes)


CASES = {
    "good.mp4": Case(clip(sound=clips.tone(1.2, rate=16000)), frames=30, backend="decord"),
    "single.mp4": Case(clip(frames=1), frames=1, backend="decord"),
    "two_frames.mp4": Case(clip(frames=2), frames=2, backend="decord"),
    "vfr.mp4": Case(clip(frames=6, times=[0, 40, 200, 240, 900, 1000]), frames=6, backend="decord"),
    "b_frames.mkv": Case(clip(options={"bf": "3"}), frames=30, backend="decord"),
    "rotated_90.mp4": Case(clip(rotation=90), frames=30, size=(80, 96), backend="decord"),
    "rotated_180.mp4": Case(clip(rotation=180), frames=30, backend="decord"),
    "rotated_270.mp4": Case(clip(rotation=270), frames=30, size=(80, 96), backend="decord"),
    "odd_size.mp4": Case(clip(pix_fmt="yuv444p", width=97, height=81), frames=30, size=(97, 81)),
    "one_pixel.mov": Case(clip(codec="png", pix_fmt="rgb24", width=1, height=1, frames=5), frames=5, size=(1, 1)),
    "ten_bit.mp4": Case(clip(codec="libx265", pix_fmt="yuv420p10le", frames=10, options=X265), frames=10),
    "grey.mkv": Case(clip(codec="ffv1", pix_fmt="gray", frames=10), frames=10),
    "alpha.mov": Case(clip(codec="qtrle", pix_fmt="argb", frames=10), frames=10),
    "vp9.webm": Case(clip(codec="libvpx-vp9", frames=10), frames=10),
    "av1.mkv": Case(clip(codec="libsvtav1", frames=10), frames=10, backend="pyav"),
    "animated.gif": Case(clip(codec="gif", pix_fmt="rgb8", fps=10, frames=10), frames=10, backend="pyav"),
    "mjpeg.avi": Case(clip(codec="mjpeg", pix_fmt="yuvj420p", frames=10), frames=10),
    "mpeg4.avi": Case(clip(codec="mpeg4", options={"bf": "2"}), frames=30),
    "interlaced.mp4": Case(clip(options={"flags": "+ildct+ilme", "x264-params": "tff=1"}), frames=30),
    "fast.mp4": Case(clip(fps=1000, frames=200), frames=200),
    "fragmented.mp4": Case(clip(container_options={"movflags": "frag_keyframe+empty_moov"}), frames=30),
    "stream.ts": Case(clip(), frames=30),
    "edit_list.mp4": Case(lambda path: clips.write_late_start(path, skipped=20), frames=40, backend="pyav"),
    "hangs_decord.mp4": Case(clips.write_late_start, frames=40, backend="pyav"),
    "aborts_decord.avi": Case(
        clips.write_absurd_length, frames=10, backend="pyav", warnings=warned("header-count")
    ),
    "two_streams.mp4": Case(clips.write_two_streams, frames=10, warnings=warned("several-streams")),
    "cut.mp4": Case(cut_short, backend="pyav", warnings=warned("frames-lost")),
    "zeroed.mp4": Case(zeroed_middle, backend="pyav", warnings=warned("damaged")),
    "flipped.mp4": Case(
        lambda path: clips.flip_bits(clips.write_clip(path, frames=60, options={"g": "12"}), count=60),
        backend="pyav",
        warnings=warned("damaged"),
    ),
    "no_index.mp4": Case(lambda path: clips.truncate(clips.write_clip(path), keep=0.6), reason="not-a-video"),
    "empty.mp4": Case(text(""), reason="empty"),
    "page.mp4": Case(text("<html><body>404</body></html>"), reason="not-a-video"),
    "noise.mp4": Case(noise, reason="not-a-video"),
    "playlist.mp4": Case(text("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"), reason="not-a-video"),
    "network.m3u8": Case(text("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n"), reason="not-a-video"),
    "concat.mp4": Case(text("ffconcat version 1.0\nfile good.mp4\n"), reason="not-a-video"),
    "sound_only.mp4": Case(clips.write_sound_only, reason="no-video-stream"),
    "cover_art.mp4": Case(clips.write_cover_art, reason="no-video-stream"),
    "size_change.ts": Case(clips.write_size_change, reason="size-changes"),
    "bomb.mov": Case(
        clip(codec="png", pix_fmt="rgb24", width=4100, height=4100, frames=1), reason="too-large"
    ),
}  # fmt: skip
USABLE = [name for name, case in CASES.items() if not case.reason]
