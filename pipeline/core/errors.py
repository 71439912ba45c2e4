"""Errors a user can act on: what is wrong, its value, and the next command to run."""

from __future__ import annotations


class FramescribeError(Exception):
    """Base of every error that the command line shows as one message instead of a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.hint}" if self.hint else self.message


class UsageError(FramescribeError):
    """The command line or `params.yaml` asks for something that does not exist."""

    exit_code = 2


class InputError(FramescribeError):
    """A file or folder the user gave is missing, empty or malformed."""

    exit_code = 3


class MissingToolError(FramescribeError):
    """Something the machine lacks: Java, weights, a device, an optional package."""

    exit_code = 4


class TooManyFailedError(FramescribeError):
    """More videos failed than `max_failed` allows; what succeeded is kept."""

    exit_code = 5


class DamageError(FramescribeError):
    """A file that this program wrote is not what it wrote: its checksum says so."""

    exit_code = 6


class DiskFullError(FramescribeError):
    """A file system had no room; what was published before is untouched."""

    exit_code = 7


class WorkerDiedError(FramescribeError):
    """A worker process ended before its work did."""

    exit_code = 8


class ClusterError(FramescribeError):
    """A cluster cannot be reached, or is not fit for the work; what was finished is kept."""

    exit_code = 9
