"""The errors of recordings."""

from __future__ import annotations

from pilotage.errors import PilotageError


class RecordingError(PilotageError):
    """A file cannot be recorded to, or read."""


class NoRecording(RecordingError):
    """The file is something other than a recording."""


class NewerRecording(RecordingError):
    """The file was written by a newer version of Pilotage."""
