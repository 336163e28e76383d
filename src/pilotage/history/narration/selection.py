"""Which reconciles to explain: of all objects, or of the objects that a text names."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.errors import InvalidDefinition
from pilotage.history.runs import Run


def selected(text: str) -> Callable[[Run], bool]:
    """Whether a reconcile is of an object that the text names: `NAMESPACE/NAME`, `KIND/NAME`, `KIND/NAMESPACE/NAME` or
    `NAME`; empty: any. Raises InvalidDefinition for another form."""
    parts = text.split("/") if text else []
    if not all(parts) or len(parts) > 3:
        raise InvalidDefinition(
            f"{text[:100]!r} names no object: it must be NAMESPACE/NAME, KIND/NAME, KIND/NAMESPACE/NAME or NAME"
        )
    if not parts:
        return lambda run: True
    *where, name = parts

    def is_named(run: Run) -> bool:
        if run.request.name != name:
            return False
        if len(where) == 2:
            return _is_of_kind(run, where[0]) and run.request.namespace == where[1]
        return not where or run.request.namespace == where[0] or _is_of_kind(run, where[0])

    return is_named


def _is_of_kind(run: Run, text: str) -> bool:
    """Whether the text is the kind of the objects that the controller reconciles, also as a plural."""
    kind = run.controller.kind
    if kind is None:
        return text.lower() == run.controller.name.lower()
    singular = kind.kind.lower()
    plurals = {f"{singular}s", f"{singular}es", f"{singular.removesuffix('y')}ies"}
    return text.lower() in {singular, *plurals}
