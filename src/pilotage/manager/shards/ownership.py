"""Decides which member may work on a key, from what the members of a group have published. No I/O.

Each member publishes its view: the members that it divides the keys among. A member works on a key only if

- it owns the key in the view that it has published, and in the one that it is about to publish;
- no other member owns the key in the view that that one has published, as read *after* the own view was published.

Of two members that both publish a view in which they own a key, the later one reads the view of the earlier one and
waits. A member that loses a key stops working on it before it publishes a view without it. So no key has two workers,
although members learn of each other at different times.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

POINTS = 160
"""Points of each member on the ring. With so many, the parts of members differ by about a tenth."""


class Ring:
    """Maps keys to members. When a member joins or leaves, only keys that it gains or had change their owner."""

    def __init__(self, members: Iterable[str]) -> None:
        self.members = frozenset(members)
        points = sorted((_hash(f"{member}#{number}"), member) for member in self.members for number in range(POINTS))
        self._hashes = [point for point, _ in points]
        self._owners = [member for _, member in points]

    def owner(self, key: str) -> str:
        """The owner of a key; empty if there are no members."""
        if not self._owners:
            return ""
        return self._owners[bisect(self._hashes, _hash(key)) % len(self._owners)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ring) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return f"Ring({sorted(self.members)})"


def _hash(text: str) -> int:
    # The same in every process and on every machine, which Python's own hash is not.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


_EMPTY = Ring(())


@dataclass(frozen=True, slots=True)
class Member:
    """A member as its lease has it."""

    name: str
    version: str
    """Changes with each renewal."""
    view: frozenset[str] = frozenset()
    duration: float = 15.0
    """Seconds after which it has lost its lease, unless the version changes."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What one member knows, and which keys it may therefore work on."""

    me: str
    published: Ring = _EMPTY
    """The view that this member has published."""
    wanted: Ring = _EMPTY
    """The view to publish next, once no key that moves away is worked on."""
    others: Mapping[str, Ring] = field(default_factory=dict)
    """The views that the other members have published."""
    confirmed: bool = False
    """Whether `others` were read after `published` was."""

    def owns(self, key: str) -> bool:
        """Whether this member may begin to work on a key."""
        me = self.me
        return (
            self.confirmed
            and self.wanted.owner(key) == me
            and self.published.owner(key) == me
            and all(view.owner(key) != other for other, view in self.others.items())
        )

    def may_publish(self, active: Iterable[str]) -> bool:
        """Whether `wanted` can be published while these keys are worked on: none of them moves away."""
        return all(self.wanted.owner(key) == self.me for key in active)

    def after_publishing(self, view: Ring) -> Ownership:
        if view == self.published:
            return self
        return replace(self, published=view, confirmed=False)

    def after_reading(self, members: Collection[Member]) -> Ownership:
        """`members` were read after the last publication, and have this member among them."""
        rings = {ring.members: ring for ring in (*self.others.values(), self.published, self.wanted)}

        def ring(view: frozenset[str]) -> Ring:
            """The ring of a view, cached because building one is slow."""
            if view not in rings:
                rings[view] = Ring(view)
            return rings[view]

        wanted = ring(frozenset(member.name for member in members))
        others = {member.name: ring(member.view) for member in members if member.name != self.me}
        return replace(self, wanted=wanted, others=others, confirmed=True)


class Observations:
    """When each other member was last seen to renew its lease, by the clock of this one."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, float]] = {}

    def observe(self, members: Collection[Member], now: float) -> list[Member]:
        """Record what was read at `now`, and return the members whose lease has expired."""
        before, self._seen = self._seen, {}
        found: list[Member] = []
        for member in members:
            version, since = before.get(member.name, ("", now))
            self._seen[member.name] = (member.version, since if version == member.version else now)
            if version == member.version and now - since > member.duration:
                found.append(member)
        return found
