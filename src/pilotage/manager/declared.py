"""What a program declares at its manager: which kinds its controllers watch and why, and who records events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pilotage.meta.forms import Kind
from pilotage.telemetry import stack

Relation = Literal["for", "owns", "watches"]


@dataclass(frozen=True, slots=True)
class DeclaredWatch:
    """A kind that a controller watches."""

    controller: str
    relation: Relation
    """The method of the builder."""
    kind: Kind
    place: str
    """`FILE:LINE` of the program; empty if it is not known."""
    cluster: str = ""
    """The name of a further cluster of the manager; empty: its own."""


@dataclass(frozen=True, slots=True)
class DeclaredRecorder:
    """A recorder of events."""

    name: str
    place: str
    api_version: str = "v1"
    """The API that it writes to: `v1` or `events.k8s.io/v1`."""


class Declared:
    """All watches and recorders, in the order in which they were declared."""

    def __init__(self) -> None:
        self.watches: list[DeclaredWatch] = []
        self.recorders: list[DeclaredRecorder] = []
        self._builders: dict[object, str] = {}  # those that are not completed, with their places

    def watch(self, watch: DeclaredWatch) -> None:
        self.watches.append(watch)

    def begin_controller(self, builder: object) -> None:
        """A builder was created, which must be completed."""
        self._builders[builder] = stack.caller()

    def complete_controller(self, builder: object) -> None:
        self._builders.pop(builder, None)

    def take_incomplete(self) -> list[str]:
        """The places of builders that were not completed; each once."""
        places, self._builders = [*self._builders.values()], {}
        return places

    def record_events(self, name: str, api_version: str = "v1") -> None:
        self.recorders.append(DeclaredRecorder(name, stack.caller(), api_version))
