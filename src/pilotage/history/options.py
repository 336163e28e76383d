"""The options of a history."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pilotage.meta.bounds.optionfields import check_fields, count_field

MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The options of a manager's history."""

    enabled: bool = True
    """Whether reconciles are recorded. Without a history there is no `pilotage why`, and hot loops are not found."""
    max_bytes: int = count_field(32 * MEBIBYTE, least=MEBIBYTE)
    """The size of the objects in it, in bytes; above that, what is oldest is dropped."""
    secret_fields: Collection[str] = ()
    """Paths of fields, such as `spec.password`, whose values are shown as hashes, as the data of Secrets is."""

    def __post_init__(self) -> None:
        check_fields(self)
