"""Names of CSI drivers."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.server.strategies.checks.texts import validate_length

_MAX_NAME = 63


def validate_driver_name(name: str, path: str) -> Iterator[Cause]:
    """A short subdomain in which capitals count as small letters."""
    if not name:
        yield required(path)
        return
    yield from validate_length(name, path, _MAX_NAME)
    yield from (invalid(path, name, problem) for problem in dns_1123_subdomain(name.lower()))
