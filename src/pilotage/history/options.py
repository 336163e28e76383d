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
    file: str = ""
    """A file in which the history is recorded as it happens, so that it survives the process; empty: none."""
    max_file_bytes: int = count_field(64 * MEBIBYTE, least=MEBIBYTE)
    """The size of the file, in bytes. It is reserved at the start; when it is full, the oldest half is overwritten."""
    record_secrets: bool = False
    """Whether the file has secret values themselves, and the random bytes of `secrets`, so that reconciles that read
    them can be replayed. Else it has hashes."""

    def __post_init__(self) -> None:
        check_fields(self)
