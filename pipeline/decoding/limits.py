"""What one video may cost. The same limits hold for indexing, frames and sound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    timeout: float = 600.0  # seconds of decoding for one request; time the caller spends on a frame does not count
    stall: float = 20.0  # seconds without a sign of progress
    max_pixels: int = 4096 * 4096  # of one frame
    max_memory_mb: int = 4096  # address space the child may add to what it starts with
