"""Functions for the cells of Tables: ages, shortened lists, selectors as text. Functions over plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from pilotage.meta.paths import items
from pilotage.meta.scalars import times

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from pilotage.meta.documents import Document

Cell = str | int | float | bool | None
Printer = Callable[["Document", datetime], list[Cell]]
"""From an object and the time now to the cells of its row."""

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"


def name(document: Document) -> str:
    return str(document["metadata"].get("name", ""))


def age(document: Document, now: datetime) -> str:
    """How long an object has existed."""
    return since(document["metadata"].get("creationTimestamp"), now)


def since(text: object, now: datetime) -> str:
    """The time from a timestamp to now."""
    moment = timestamp(text)
    return UNKNOWN if moment is None else times.rounded((now - moment).total_seconds())


def timestamp(text: object) -> datetime | None:
    """A point in time; None if it is not set."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return times.parse(text)
    except ValueError:
        return None


def shortened(values: Sequence[str], limit: int = 3, separator: str = ",") -> str:
    """The first values, and how many more there are."""
    text = separator.join(values[:limit])
    return text if len(values) <= limit else f"{text} + {len(values) - limit} more..."


def labels(values: Mapping[str, str] | None) -> str:
    """Labels as text, in the order of their keys."""
    return ",".join(f"{key}={value}" for key, value in sorted((values or {}).items())) or NONE


def selector(value: Document | None) -> str:
    """A label selector as text, in the order of its keys."""
    if not value:
        return NONE
    terms = [(key, "=", f"{key}={text}") for key, text in (value.get("matchLabels") or {}).items()]
    for each in value.get("matchExpressions") or []:
        key, operator = each.get("key", ""), each.get("operator", "")
        values = ",".join(sorted(each.get("values") or []))
        match operator:
            case "In" | "NotIn":
                terms.append((key, operator, f"{key} {operator.lower()} ({values})"))
            case "Exists":
                terms.append((key, operator, key))
            case "DoesNotExist":
                terms.append((key, operator, f"!{key}"))
    return ",".join(text for _, _, text in sorted(terms)) or NONE


def containers(spec: Document) -> tuple[str, str]:
    """The names and the images of the containers of a pod."""
    found = items(spec, "containers")
    return ",".join(each.get("name", "") for each in found), ",".join(each.get("image", "") for each in found)


def text(value: object, missing: str = NONE) -> str:
    """A value as text, or the placeholder for a missing one."""
    return missing if value is None or value == "" else str(value)
