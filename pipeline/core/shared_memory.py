"""Memory that processes share and that has no name, so that nothing is left behind whoever dies."""

from __future__ import annotations

import os
import tempfile


def anonymous_memory() -> int:
    """A descriptor, which a child inherits."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("framescribe")
    with tempfile.TemporaryFile() as file:  # systems without memfd
        return os.dup(file.fileno())
