"""A structural schema, compiled: prunes, defaults and validates documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pilotage.errors import Cause
from pilotage.schema.structural.default import Default, DefaultBudget, compile_default
from pilotage.schema.structural.embedded import EmbeddedObject, embedded_resource
from pilotage.schema.structural.lists import list_check
from pilotage.schema.structural.node import Node, Resolve, Tree
from pilotage.schema.structural.paths import MAXIMUM_REPORTED, Problem, Problems, TooManyProblemsError
from pilotage.schema.structural.prune import Prune, Pruner
from pilotage.schema.structural.ratchet import remaining_problems
from pilotage.schema.structural.shape import Shape, compile_shape
from pilotage.schema.structural.validate import Table, Validator, check_value
from pilotage.schema.structural.values import NO_FIELD
from pilotage.schema.structural.walk import compile_walk
from pilotage.schema.subschemas import content_digest, has_rules

if TYPE_CHECKING:
    from pilotage.schema.cel.validations import Rules

MAXIMUM_DEFAULTS = 3 * 2**19
"""The most bytes that defaults may add to one document: one of more than 1.5 MiB cannot be stored."""
_ABSENT = object()
_BLOCKING_REASONS = frozenset(
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
    NO_FIELD,
)


class _Content:
    """A schema as the key of what is made of it: it equals every schema with the same content."""

    __slots__ = ("digest", "schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.digest = content_digest(schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(maxsize=32)
def _shared(content: _Content) -> StructuralSchema:
    return StructuralSchema.compile(content.schema)


class StructuralSchema:
    """Prunes, defaults and validates documents (plain dicts and lists) by one schema, compiled once.

    Give each document to `prune`, then `default`, then `validate`, as an API server does.
    """

    def __init__(self, root: Node) -> None:
        self._root = root
        self._is_of_definition = root.tree.resolve is None
        validator = Validator()
        self._table = validator.compile(root)
        status = root.properties.get("status")
        self._status = status
        self._status_table = validator.compile(status) if status is not None else {}
        self._lists = compile_walk(root, list_check) if self._is_of_definition else None
        self._embedded = compile_walk(root, embedded_resource) if self._is_of_definition else None
        self._rules = _compile_rules(root) if self._is_of_definition else None

    @classmethod
    def compile(
        cls, schema: Mapping[str, Any], *, resolve: Resolve | None = None, embedded: bool = True
    ) -> StructuralSchema:
        """Compile a schema. Its root is a resource, unless `embedded` is false.

        `resolve` returns the schema for the last part of a `$ref`. The schemas of definitions have no references; a
        schema with references may recurse, and supports only `validate`, without list types, embedded resources and
        rules.

        Raises InvalidDefinition for a pattern or a rule that does not compile, and MissingExtra if the schema has rules
        and CEL is not installed.
        """
        return cls(Tree(resolve).node(schema, root=embedded))

    @classmethod
    def shared(cls, schema: Mapping[str, Any]) -> StructuralSchema:
        """The same as `compile` for a schema of a definition. Schemas with the same content share what is compiled, for
        all servers of the process, if it was used recently."""
        return _shared(_Content(schema))

    # Made for the first document: many schemas are only compiled to see whether they are valid.

    @cached_property
    def _prune(self) -> Prune | None:
        return Pruner().compile(self._root)

    @cached_property
    def _default(self) -> Default | None:
        return compile_default(self._root)

    @cached_property
    def _shape(self) -> Shape | None:
        return compile_shape(self._root) if self._is_of_definition else None

    @cached_property
    def _status_shape(self) -> Shape | None:
        return compile_shape(self._status) if self._is_of_definition and self._status is not None else None

    def is_complete(self, document: Any) -> bool:
        """Whether `prune` and `default` would do nothing; False if that cannot be decided at once."""
        return self._shape is not None and self._shape.is_complete(document)

    def accepts(self, document: Any) -> bool:
        """Whether `prune`, `default` and `validate` would find nothing; False if that cannot be decided at once."""
        return self.may_accept and self._shape is not None and self._shape.is_valid(document)

    @cached_property
    def may_accept(self) -> bool:
        """Whether there are documents for which `accepts` is true: nothing but the shape has to be checked."""
        shape = self._shape
        return shape is not None and not shape.floats and self._rules is None and self._embedded is None

    @property
    def floats(self) -> bool:
        """Whether there may be a float in a complete document."""
        return self._shape is None or self._shape.floats

    def prune(self, document: Any) -> list[str]:
        """Drop unknown fields in place. Returns their sorted paths, at most MAXIMUM_REPORTED of them."""
        dropped: list[str] = []
        if self._prune is not None:
            self._prune(document, None, dropped)
            if dropped:
                dropped.sort()
        return dropped

    def default(self, document: Any, *, limit: int = MAXIMUM_DEFAULTS) -> None:
        """Set defaults in place, and remove nulls of fields that are not nullable.

        Raises DefaultsTooLargeError if the defaults alone have more bytes than `limit`.
        """
        if self._default is not None:
            self._default(document, DefaultBudget(limit))

    def validate(
        self, document: Any, old: Any = None, *, metadata: Sequence[Cause] = (), tolerated: list[Cause] | None = None
    ) -> list[Cause]:
        """What is wrong with a document. With `old`, problems in parts that the update does not change are tolerated
        (ratcheting).

        Rules are not evaluated if something basic is wrong, including the `metadata`, which the caller has checked. Of
        more than MAXIMUM_REPORTED problems the first are reported, and one more cause states that there are others.
        Rules that fail in an unchanged part are added to `tolerated`.
        """
        return self._causes(
            _Part(self._table, self._shape, document, None), _Update(document, old, metadata, tolerated)
        )

    def embedded_resources(self, document: Any) -> list[EmbeddedObject]:
        """The resources with an apiVersion and kind of their own that are in a document."""
        found: list[EmbeddedObject] = []
        if self._embedded is not None:
            self._embedded(document, None, found)
        return found

    def has_unknown_fields(self, default: Any) -> bool:
        """Whether pruning would drop fields of a default. (Unknown fields of metadata are dropped silently.)"""
        copy = msgspec.json.decode(msgspec.json.encode(default))
        dropped: list[str] = []
        if prune := Pruner(metadata=False).compile(self._root):
            prune(copy, None, dropped)
        return bool(dropped)

    def validate_default(self, default: Any) -> list[Cause]:
        """What is wrong with a default: its metadata; or else its values; or else the rules that it breaks."""
        problems = Problems(MAXIMUM_REPORTED)
        with suppress(TooManyProblemsError):
            for resource in self.embedded_resources(default):
                problems.extend(resource.problems())
        if problems:
            return [each.cause for each in problems]
        with suppress(TooManyProblemsError):
            check_value(self._table, default, None, None, problems)
        if problems:  # most defaults have no problems
            problems = Problems(MAXIMUM_REPORTED)
            with suppress(TooManyProblemsError):
                check_value(Validator(of_default=True).compile(self._root), default, None, None, problems)
        if problems or self._rules is None:
            return [_of_default(each.cause) for each in problems]
        # It must be allowed as a value that stays, and as a new one.
        return self._rules.validate(default, default, ratchet=False) or self._rules.validate(default)

    def validate_status(
        self, document: Any, old: Any = None, *, metadata: Sequence[Cause] = (), tolerated: list[Cause] | None = None
    ) -> list[Cause]:
        """As `validate`, for a write to the status subresource: of the schema only `status` is checked."""
        status = document.get("status", _ABSENT) if isinstance(document, dict) else _ABSENT
        update = _Update(document, old, metadata, tolerated)
        if status is _ABSENT:
            return self._causes(_Part({}, None, None, None), update)
        return self._causes(_Part(self._status_table, self._status_shape, status, "status"), update)

    def _causes(self, part: _Part, update: _Update) -> list[Cause]:
        document, old, metadata, tolerated = update
        problems = self._problems(part, document, old, MAXIMUM_REPORTED)
        more = len(problems) >= MAXIMUM_REPORTED
        if problems and old is not None:
            problems = remaining_problems(self._root, document, old, problems)
            if more and not problems:  # all of these are tolerated: the update may have caused later ones
                more = False
                problems = remaining_problems(self._root, document, old, self._problems(part, document, old, math.inf))
        found = [each.cause for each in problems]
        if more and found:
            return [*found, _UNCHECKED]
        if self._rules is not None:
            if any(cause.reason in _BLOCKING_REASONS for cause in (*metadata, *found)):
                found.append(_UNCHECKED)
            else:
                found += self._rules.validate(document, old, tolerated=tolerated)
        return found

    def _problems(self, part: _Part, document: Any, old: Any, most: float) -> list[Problem]:
        valid = part.shape is not None and part.shape.is_valid(part.value)
        whole = part.value is document
        if valid and whole and self._embedded is None:
            return []  # as most are
        problems = Problems(most)
        try:
            if not valid:
                with _moved_below(part.key, problems):
                    check_value(part.table, part.value, None, None, problems)
            for resource in self.embedded_resources(document):
                problems.extend(resource.problems())
            if self._lists is not None and not (valid and whole):
                self._check_lists(document, old, problems)
        except TooManyProblemsError:
            pass
        return problems

    def _check_lists(self, document: Any, old: Any, problems: Problems) -> None:
        assert self._lists is not None
        if isinstance(old, dict) and isinstance(document, dict):
            # What is the same in the old object may have duplicates, see below.
            document = {name: value for name, value in document.items() if value is not old.get(name)}
        found = Problems()
        try:  # noqa: SIM105 - a block of `suppress` takes as long as the check
            self._lists(document, None, found)
        except TooManyProblemsError:
            pass
        if found and old is not None:
            before = Problems(most=1)
            with suppress(TooManyProblemsError):
                self._lists(old, None, before)
            if before:
                return  # Kubernetes tolerates duplicates in an update of an object that had some
        problems.extend(found)


class _Update(NamedTuple):
    """A document, what it was before, and what the caller of a validation passes and receives."""

    document: Any
    old: Any
    metadata: Sequence[Cause]
    tolerated: list[Cause] | None


class _Part(NamedTuple):
    """The part of a document that is checked: the whole object, or its status."""

    table: Table
    shape: Shape | None
    value: Any
    key: str | None


@contextmanager
def _moved_below(key: str | None, problems: Problems) -> Iterator[None]:
    """Give the problems found in the block the path of the checked part. Messages have paths relative to it."""
    try:
        yield
    finally:
        if key is not None:
            problems[:] = [_below(key, each) for each in problems]


def _below(key: str, problem: Problem) -> Problem:
    cause = problem.cause
    field = key if cause.field in ("", NO_FIELD) else f"{key}.{cause.field}"
    return replace(problem, steps=(key, *problem.steps), spine=problem.spine + 1, cause=cause.replace(field=field))


def _of_default(cause: Cause) -> Cause:
    """A cause for a value of a default. As in Kubernetes, its index comes after a dot, unlike the index of a rule."""
    return Cause(cause.reason, cause.message, f".{cause.field}") if cause.field.startswith("[") else cause


def _compile_rules(root: Node) -> Rules | None:
    if not has_rules(root.schema):
        return None
    from pilotage.schema.cel.validations import compile_rules

    return compile_rules(root)
