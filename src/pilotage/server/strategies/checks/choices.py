"""Fields whose value is one of a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import not_supported, required


def validate_choice(value: Any, path: str, allowed: Sequence[str]) -> Sequence[Cause]:
    """One of the allowed values."""
    return () if value in allowed else (not_supported(path, value, allowed),)


def validate_optional_choice(value: Any, path: str, allowed: Sequence[str]) -> Sequence[Cause]:
    """One of the allowed values, unless it is absent."""
    return () if value is None or value in allowed else (not_supported(path, value, allowed),)


def validate_required_choice(value: Any, path: str, allowed: Sequence[str], detail: str = "") -> Sequence[Cause]:
    """One of the allowed values, which must be there."""
    return validate_choice(value, path, allowed) if value else (required(path, detail),)
