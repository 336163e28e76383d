"""Names in fields: of classes, of groups, of objects that a field refers to."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.names import RULES, NameForm


def validate_name(name: str, path: str, form: NameForm = "subdomain") -> Iterator[Cause]:
    """A name of this form, be it empty."""
    yield from (invalid(path, name, problem) for problem in RULES[form](name))


def validate_optional_name(name: str | None, path: str, form: NameForm = "subdomain") -> Iterator[Cause]:
    """A name of this form, unless it is absent or empty."""
    if name:
        yield from validate_name(name, path, form)


def validate_required_name(name: str | None, path: str, form: NameForm = "subdomain") -> Iterator[Cause]:
    """A name of this form that is not empty."""
    if name:
        yield from validate_name(name, path, form)
    else:
        yield required(path)
