"""The compiled form of a structural schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from pilotage.errors import Cause
from pilotage.schema.structural.default import Defaulter, Room
from pilotage.schema.structural.embedded import embedded_check
from pilotage.schema.structural.lists import list_check
from pilotage.schema.structural.node import Node, Resolve, Tree
from pilotage.schema.structural.paths import MAXIMUM_TOLD, EnoughError, Problem, Problems
from pilotage.schema.structural.prune import Pruner
from pilotage.schema.structural.ratchet import kept
from pilotage.schema.structural.validate import Table, Validator, run
from pilotage.schema.structural.values import NOWHERE
from pilotage.schema.structural.walk import compile_walk

if TYPE_CHECKING:
    from pilotage.schema.cel.rules import Rules

MAXIMUM_DEFAULTS = 3 * 2**19
"""Bytes that the defaults of one document may have: with more than 1.5 MiB it could not be stored."""
_ABSENT = object()
_BLOCKING = frozenset(
    (
        "FieldValueRequired",
        "FieldValueTypeInvalid",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
    )
)
_UNCHECKED = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    NOWHERE,
)


class StructuralSchema:
    """Prunes, defaults and validates documents (plain dicts and lists) by one schema, compiled once.

    Give each document to `prune`, then `default`, then `validate`, as an API server does.
    """

    def __init__(self, root: Node) -> None:
        self._root = root
        self._prune = Pruner().compile(root)
        self._default = Defaulter().compile(root)
        validator = Validator()
        self._table = validator.compile(root)
        status = root.properties.get("status")
        self._status_table = validator.compile(status) if status is not None else {}
        # The lists and resources of built-in kinds are checked by the code of each kind, if at all.
        self._lists = None if root.tree.built_in else compile_walk(root, list_check)
        self._embedded = None if root.tree.built_in else compile_walk(root, embedded_check)
        self._rules = _rules(root)

    @classmethod
    def compile(
        cls, schema: Mapping[str, Any], *, resolve: Resolve | None = None, embedded: bool = True
    ) -> StructuralSchema:
        """Compile a schema whose root is a resource, unless `embedded` is false.

        `resolve` gives the schema for the last part of a `$ref`; with it the schema counts as one of the built-in
        kinds, which say "anything" by naming no properties.

        InvalidDefinition for a pattern that RE2 refuses or a rule that does not compile; MissingExtra if there are
        rules and CEL is not installed.
        """
        return cls(Tree(resolve).node(schema, root=embedded))

    def prune(self, document: Any) -> list[str]:
        """Drop unknown fields in place; their paths, sorted, and no more than MAXIMUM_TOLD of them."""
        dropped: list[str] = []
        if self._prune is not None:
            self._prune(document, None, dropped)
            if dropped:
                dropped.sort()
        return dropped

    def default(self, document: Any, *, limit: int = MAXIMUM_DEFAULTS) -> None:
        """Fill in defaults in place; take out nulls where the schema has none.

        DefaultsTooLargeError if the defaults alone have more bytes than `limit`.
        """
        if self._default is not None:
            self._default(document, Room(limit))

    def validate(self, document: Any, old: Any = None) -> list[Cause]:
        """What is wrong with a document; on an update (`old`) only what the update is to blame for.

        Where more than MAXIMUM_TOLD things are wrong, the first of them are told, and that there is more.
        """
        return self._judged(_Part(self._table, document, None), document, old)

    def validate_status(self, document: Any, old: Any = None) -> list[Cause]:
        """As `validate`, for a write to the status subresource: of the schema only the status counts."""
        status = document.get("status", _ABSENT) if isinstance(document, dict) else _ABSENT
        return self._judged(_Part({} if status is _ABSENT else self._status_table, status, "status"), document, old)

    def _judged(self, part: _Part, document: Any, old: Any) -> list[Cause]:
        problems = self._problems(part, document, old, MAXIMUM_TOLD)
        more = len(problems) >= MAXIMUM_TOLD
        if problems and old is not None:
            problems = kept(self._root, document, old, problems)
            if more and not problems:  # the update is to blame for none of these; there may be others
                more = False
                problems = kept(self._root, document, old, self._problems(part, document, old, math.inf))
        found = [each.cause for each in problems]
        if more and found:
            return [*found, _UNCHECKED]
        if self._rules is not None:
            if any(cause.reason in _BLOCKING for cause in found):
                found.append(_UNCHECKED)
            else:
                found += self._rules.validate(document, old)
        return found

    def _problems(self, part: _Part, document: Any, old: Any, most: float) -> list[Problem]:
        problems = Problems(most)
        with suppress(EnoughError):
            run(part.table, part.value, None, part.key, problems)
            if self._embedded is not None:
                self._embedded(document, None, problems)
            if self._lists is not None:
                self._check_lists(document, old, problems)
        return problems

    def _check_lists(self, document: Any, old: Any, problems: Problems) -> None:
        assert self._lists is not None
        found = Problems()
        with suppress(EnoughError):
            self._lists(document, None, found)
        if found and old is not None:
            before = Problems(most=1)
            with suppress(EnoughError):
                self._lists(old, None, before)
            if before:
                return  # the old object had duplicates already
        problems.extend(found)


class _Part(NamedTuple):
    """The part of a document that its schema counts for, with its table and its name."""

    table: Table
    value: Any
    key: str | None


def _rules(root: Node) -> Rules | None:
    if root.tree.built_in:
        return None
    from pilotage.schema.cel.rules import compile_rules

    return compile_rules(root)
