"""A real clip as the input of a published check: decoded, sampled and forwarded as in `framescribe extract`.

Other projects make the features of N frames a second from a clip that they encode again at that rate. The same is done
here, because a frame that is N times a second on the screen is another one: FFmpeg's filter looks half a step ahead.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import av
import numpy as np

from extractors.base import AudioExtractor, Extractor
from pipeline.catalogue import lookahead_of
from pipeline.decoding import Limits, OpenedFile, held, inspect_video, read_frames, row_from
from pipeline.extraction.audio_features import extract_audio
from pipeline.extraction.forward_pass import forward
from pipeline.extraction.sampling import sample
from pipeline.index import VideoRow
from pipeline.params import Extract

ONE_THREAD = {"threads": "1"}  # how many there are would change the pictures


def features_of_video(path: Path, extractor: Extractor, params: Extract, *, recoded_fps: int) -> dict[str, np.ndarray]:
    """Every output of every row of the clip; with `recoded_fps`, of the clip encoded again at that rate."""
    with TemporaryDirectory() as folder:
        if recoded_fps:
            path = encoded_again(path, Path(folder) / "recoded.mp4", fps=recoded_fps)
        with held(str(path), limits=Limits()) as video, video.reading():
            facts = inspect_video(str(path), file=video.file)
            row = row_from(facts, video_id=path.stem, path=str(path), sha256=video.sha256)
            return _features(extractor, params, row=row, times=np.array(facts["times"]), file=video.file)


def _features(
    extractor: Extractor, params: Extract, *, row: VideoRow, times: np.ndarray, file: OpenedFile
) -> dict[str, np.ndarray]:
    if isinstance(extractor, AudioExtractor):
        ((arrays, _),) = extract_audio([extractor], [params.sampling], row=row, times=times, file=file)
        return arrays
    rows = sample(params.sampling, frames=row.frames, times=times, lookahead=lookahead_of(params.family))
    return forward(extractor, read_frames(row, rows.needed, file=file), rows=rows)


def encoded_again(path: Path, out: Path, *, fps: int) -> Path:
    """As `ffmpeg -i PATH -filter:v fps=FPS OUT.mp4` does, by x264's usual settings; its pictures alone."""
    with av.open(str(path)) as source, av.open(str(out), "w") as container:
        pictures = source.streams.video[0]
        graph = av.filter.Graph()
        graph.link_nodes(graph.add_buffer(template=pictures), graph.add("fps", f"fps={fps}"), graph.add("buffersink"))
        graph.configure()
        stream = container.add_stream("libx264", rate=fps, options=ONE_THREAD)
        stream.codec_context.thread_count = 1
        stream.width, stream.height, stream.pix_fmt = pictures.width, pictures.height, "yuv420p"
        for frame in [*source.decode(pictures), None]:
            graph.push(frame)
            for picture in _pulled(graph):
                picture.pict_type = av.video.frame.PictureType.NONE  # the encoder chooses key frames, not the source
                container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return out


def _pulled(graph: av.filter.Graph) -> list[av.VideoFrame]:
    found: list[av.VideoFrame] = []
    while True:
        try:
            found.append(cast(av.VideoFrame, graph.pull()))
        except (av.error.BlockingIOError, av.error.EOFError):
            return found
