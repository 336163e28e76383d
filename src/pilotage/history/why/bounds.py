"""The size of stories that are sent or kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilotage.history.stories import Reconcile

MOST_BYTES = 4 * 1024 * 1024
"""The size of the stories of one answer; above it the oldest are left out."""
_MOST_PARTS = 500
"""Causes and steps of one reconcile in an answer."""


def bounded(stories: Sequence[Reconcile], most: int = MOST_BYTES) -> tuple[Reconcile, ...]:
    """The latest of the stories, and of each its first causes and steps, within a size in bytes."""
    found: list[Reconcile] = []
    size = 0
    for story in reversed(stories):
        short = _shortened(story)
        size += len(msgspec.json.encode(short))
        if size > most and found:
            break
        found.append(short)
    return tuple(reversed(found))


def _shortened(story: Reconcile) -> Reconcile:
    if len(story.causes) <= _MOST_PARTS and len(story.steps) <= _MOST_PARTS:
        return story
    left_out = max(0, len(story.steps) - _MOST_PARTS)
    return msgspec.structs.replace(
        story,
        causes=story.causes[:_MOST_PARTS],
        steps=story.steps[:_MOST_PARTS],
        skipped=story.skipped + left_out,
    )
