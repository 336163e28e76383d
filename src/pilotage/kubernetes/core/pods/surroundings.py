"""What the rules of a container need to know of its pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pilotage.codec.defaults.containers import CONTAINER_LISTS
from pilotage.meta.documents import Document


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts of a pod that its containers refer to."""

    volumes: Mapping[str, Document]
    """The valid volumes by their names."""
    claims: frozenset[str]
    """The names of the pod's resource claims."""
    restart_policy: str
    grace_period: int | None
    host_users: bool
    """Whether the users of the containers are users of the node."""


def containers_of(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    """All containers of a spec, each with its path."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield container, f"{path}.{name}[{index}]"
