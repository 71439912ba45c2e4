"""What Python raises for an archive that cannot be read: all of it is to be expected from a file of unknown origin."""

from __future__ import annotations

import zipfile
import zlib

UNREADABLE = (
    zipfile.BadZipFile,  # no archive, or a member whose checksum is wrong
    zlib.error,  # a flipped bit inside a packed member
    EOFError,  # cut short
    OSError,
    RuntimeError,  # encrypted, or packed in a way that Python does not know
)
