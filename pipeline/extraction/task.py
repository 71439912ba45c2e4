"""One extractor of a pass over the videos: its entry, its fingerprint, and what is known of it without building it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline import extraction
from pipeline.core import canonical
from pipeline.extraction.engine_choice import require_engine
from pipeline.extraction.extractor_facts import ExtractorFacts, facts_of
from pipeline.extraction.fingerprint import fingerprint, video_record
from pipeline.extraction.sound_rows import sound_state
from pipeline.index import VideoRow
from pipeline.params import Extract
from pipeline.weights import WITHOUT_FILE

if TYPE_CHECKING:
    from extractors.base import Extractor


@dataclass(frozen=True)
class Task:
    """It travels to workers; only what computes builds the network."""

    name: str
    params: Extract
    record: dict[str, Any] = field(hash=False)  # of all that decides its features
    facts: ExtractorFacts = field(hash=False)

    def extractor(self, *, device: str) -> Extractor:
        return extraction.extractor_of(self.params, weights_sha256=self.record["weights"], device=device)

    def record_of(self, row: VideoRow) -> dict[str, Any]:
        return video_record(self.record, sha256=row.sha256, backend=row.decoder)

    def key_of(self, row: VideoRow) -> str:
        """Of the video's entry in the feature cache: the `record_sha256` of its record, of which one part is long."""
        beginning = f'{{"decoder":{canonical(row.decoder)},"fingerprint":'.encode()
        end = f',"video":{canonical(row.sha256)}}}'.encode()
        return hashlib.sha256(beginning + self._fingerprint + end).hexdigest()

    @cached_property
    def _fingerprint(self) -> bytes:
        return canonical(self.record).encode()

    def origin_of(self, row: VideoRow) -> dict[str, Any]:
        """What a store says about a video; of one without sound, that it has none."""
        sound = {"sound": sound_state(row)} if self.params.sampling.hop is not None else {}
        return {"sha256": row.sha256, "decoder": row.decoder, **sound}


def make_task(name: str, params: Extract, *, weights_sha256: str, device: str) -> Task:
    require_engine(params.engine, params.precision, device=device)
    weights = params.weights if params.weights in WITHOUT_FILE else weights_sha256
    facts = facts_of(params, weights_sha256=weights)
    record = fingerprint(
        params,
        weights=weights,
        preprocessing=facts.preprocessing,
        code=facts.code,
        device=device,
        takes_batches=facts.takes_batches,
    )
    return Task(name, params, record, facts)
