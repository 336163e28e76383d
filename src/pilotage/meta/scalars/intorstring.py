"""Scalars that may be of more than one type."""

from __future__ import annotations

from typing import TypeAlias

IntOrString: TypeAlias = int | str
"""A number, or a text such as a port's name or a percentage."""
