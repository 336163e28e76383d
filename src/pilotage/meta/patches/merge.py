"""JSON merge patch (RFC 7386): objects are merged, `null` removes, everything else replaces.

As in Kubernetes, and unlike in the RFC, nulls are removed from objects in lists, too.
"""

from __future__ import annotations

from typing import Any

from pilotage.errors import PatchTooLarge


def apply(document: Any, patch: Any) -> Any:
    """`document` with the patch applied. Neither is changed; the result shares with them what it can."""
    try:
        return _merged(document, patch)
    except RecursionError:
        raise PatchTooLarge("the patch is nested too deeply") from None


def _merged(document: Any, patch: Any) -> Any:
    if isinstance(patch, list):
        return [item if item is None else _merged(None, item) for item in patch]
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
