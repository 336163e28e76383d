"""What can be wrong with a field, for `Invalid.of`: each function returns the Cause that kube-apiserver would return.

    raise Invalid.of(book, field.invalid("spec.pages", book.spec.pages, "may not shrink"))

A path is written as Kubernetes writes it; `path("spec", "items", 0, "name")` is `spec.items[0].name`.
"""

from __future__ import annotations

from pilotage.meta.causes import duplicate as duplicate
from pilotage.meta.causes import forbidden as forbidden
from pilotage.meta.causes import invalid as invalid
from pilotage.meta.causes import not_found as not_found
from pilotage.meta.causes import not_supported as not_supported
from pilotage.meta.causes import required as required
from pilotage.meta.causes import too_long as too_long
from pilotage.meta.causes import too_many as too_many
from pilotage.meta.causes import type_invalid as type_invalid


def path(*steps: str | int) -> str:
    """The path of a field from its steps: names, and indexes of lists."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".")


def key(field: str, name: str) -> str:
    """The path of an entry of a map: `key("metadata.labels", "app")` is `metadata.labels[app]`."""
    return f"{field}[{name}]"
