"""The rows of a Scale."""

from __future__ import annotations

from pilotage.server.tables.rows import AGE, NAME, count, field, row

SCALE = row(NAME, count("spec.replicas"), count("status.replicas"), AGE)
"""The Scale of a built-in object."""
CUSTOM_SCALE = row(NAME, field("spec.replicas", None), count("status.replicas"), AGE)
"""The Scale of a custom resource, which may have no replicas."""
