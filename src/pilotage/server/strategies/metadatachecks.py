"""How often metadata is checked in an update.

Kubernetes checks it in the part that all kinds share, and most kinds check it again: the changes (what is immutable),
the whole, or both. An error lists a cause as often as it was found.
"""

from __future__ import annotations

from typing import NamedTuple


class Checks(NamedTuple):
    """How often a kind checks metadata again."""

    changes: int = 1
    whole: int = 0


class MetadataChecks(NamedTuple):
    """The checks in an update of an object, and in one of its status."""

    update: Checks = Checks()
    status: Checks = Checks()


UNCHECKED = Checks(0, 0)
"""For a kind without further checks of its metadata."""
ONCE = MetadataChecks()
BOTH = MetadataChecks(Checks(1, 1))
WHOLE = MetadataChecks(Checks(0, 1))
NONE = MetadataChecks(UNCHECKED, UNCHECKED)
