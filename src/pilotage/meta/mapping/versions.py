"""Which of a kind's versions comes first."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def version_priority(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions, the preferred one first: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    return (_STAGES[match[2]], -int(match[1]), -int(match[3] or 0), version)
