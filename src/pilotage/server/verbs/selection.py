"""Selects the objects of a collection by labels and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.errors import BadRequest
from pilotage.meta.paths import value_at
from pilotage.meta.selectors.selectors import FieldSelector, Selector
from pilotage.rest.request import ListOptions
from pilotage.storage.interface import Entry

if TYPE_CHECKING:
    from pilotage.server.resources import ResourceInfo


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head).decode
_document = msgspec.json.Decoder().decode


_ZEROS = {"spec.hostNetwork": "false", "spec.unschedulable": "false", "status.replicas": "0", "status.successful": "0"}
"""What absent values of built-in kinds count as; any other absent value counts as an empty text."""


class Selection:
    """A predicate over entries. An empty one selects everything without decoding."""

    def __init__(self, info: ResourceInfo, label_selector: str, field_selector: str) -> None:
        self._labels = Selector.parse(label_selector) if label_selector else None
        self._fields = FieldSelector.parse(field_selector) if field_selector else None
        self.info = info
        self.everything = not self._labels and not self._fields
        self.name = ""
        """The one name that can match, if the selector requires one."""
        self._check_fields()

    @classmethod
    def of(cls, info: ResourceInfo, options: ListOptions, check: Callable[[ListOptions], None]) -> Selection:
        """The selection of a request. Errors are raised in kube-apiserver's order: syntax, the other options, unknown
        fields."""
        Selector.parse(options.label_selector)
        FieldSelector.parse(options.field_selector)
        check(options)
        return cls(info, options.label_selector, options.field_selector)

    def _check_fields(self) -> None:
        for requirement in self._fields.requirements if self._fields else ():
            if requirement.field == "metadata.name":
                if requirement.operator == "=":
                    self.name = requirement.value
            elif requirement.field == "metadata.namespace" and (self.info.namespaced or self._has_common_fields):
                continue
            elif requirement.field not in self.info.rules.selectable_fields:
                raise self._unknown(requirement.field)

    @property
    def _has_common_fields(self) -> bool:
        """A built-in kind without fields of its own, which all have the same two."""
        return not self.info.custom and not self.info.rules.selectable_fields

    def _unknown(self, field: str) -> BadRequest:
        if self._has_common_fields:
            return BadRequest(f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        return BadRequest(self.info.rules.unselectable.format(field))

    def matches(self, entry: Entry | None) -> bool:
        """Whether the entry is selected. None (a missing object) never is."""
        if entry is None:
            return False
        if self.everything:
            return True
        metadata = _metadata(entry)
        if self._labels is not None and not self._labels.matches(metadata.labels or {}):
            return False
        return self._fields is None or self._fields.matches(
            _FieldsOf(entry, metadata, self.info.rules.selectable_fields)
        )


def _metadata(entry: Entry) -> _Metadata:
    # Remembered on the entry: a watch with a selector looks at the same entry as new and, later, as previous.
    metadata: _Metadata | None = entry.memo
    if metadata is None:
        metadata = entry.memo = _head(entry.value).metadata
    return metadata


class _FieldsOf(Mapping[str, str]):
    """An entry's selectable fields, decoded only if a field beyond the metadata is needed."""

    def __init__(self, entry: Entry, metadata: _Metadata, selectable: Mapping[str, tuple[str, ...]]) -> None:
        self._entry = entry
        self._known = {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
        self._selectable = selectable
        self._decoded: Any = None

    def __getitem__(self, field: str) -> str:
        if field in self._known:
            return self._known[field]
        if self._decoded is None:
            self._decoded = _document(self._entry.value)
        return _text(value_at(self._decoded, self._selectable[field])) or _ZEROS.get(field, "")

    def __iter__(self) -> Any:
        return iter((*self._known, *self._selectable))

    def __len__(self) -> int:
        return len(self._known) + len(self._selectable)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
