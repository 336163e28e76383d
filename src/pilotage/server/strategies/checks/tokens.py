"""The lifetime of a service account token, wherever it is requested."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid

_SHORTEST_SECONDS = 600
_LONGEST_SECONDS = 2**32


def validate_token_lifetime(seconds: int, path: str) -> Iterator[Cause]:
    """A token is valid for ten minutes at least."""
    if seconds < _SHORTEST_SECONDS:
        yield invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_SECONDS:
        yield invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
