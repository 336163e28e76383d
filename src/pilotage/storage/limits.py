"""Limits of every storage. Commands that read a file load it, and nothing that takes long."""

from __future__ import annotations

MAX_COMMIT_OPERATIONS = 1024
"""The maximum number of operations in one commit."""
