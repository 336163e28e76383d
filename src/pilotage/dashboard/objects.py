"""The objects of the caches as a list: each below its owner, with what its last reconcile did.

The facts of an object are read again only if its bytes have changed, and the order is computed again only if objects
were added, were removed or have another owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from pilotage.dashboard.facts import Facts, facts_of
from pilotage.dashboard.values import KindCount
from pilotage.history.secrets import Hider
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind

_DEEPEST = 20
"""Levels of owners that are shown below each other."""

Key = tuple[GroupVersionKind, str, str]
"""Kind, namespace and name."""


class Placed(NamedTuple):
    """An object in the list, and how many owners are above it."""

    facts: Facts
    depth: int


class ObjectIndex:
    """The facts of all objects, and their order."""

    def __init__(self, facts: Mapping[Key, Facts] | None = None) -> None:
        self._facts: dict[Key, Facts] = dict(facts or {})
        self._order: list[Placed] | None = None

    def update(self, found: Iterable[tuple[Key, bytes]]) -> Iterator[None]:
        """Take all objects as they are now. A generator: it yields after each object that was read, so that the
        caller can let other tasks run."""
        facts: dict[Key, Facts] = {}
        known, same_order = self._facts, True
        for key, data in found:
            before = known.get(key)
            if before is not None and before.data is data:
                facts[key] = before
                continue
            made = facts[key] = facts_of(*key, data)
            same_order = same_order and before is not None and _is_same_place(before, made)
            yield
        self._replace(facts, same_order=same_order and len(facts) == len(known))

    def changed(self, changes: Mapping[Key, bytes | None]) -> ObjectIndex:
        """A copy in which some objects have other bytes, or (None) do not exist."""
        made = ObjectIndex(self._facts)
        for key, data in changes.items():
            if data is None:
                made._facts.pop(key, None)
            else:
                made._facts[key] = facts_of(*key, data)
        return made

    def get(self, key: Key) -> Placed | None:
        facts = self._facts.get(key)
        return Placed(facts, 0) if facts is not None else None

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def facts(self) -> Mapping[Key, Facts]:
        return self._facts

    @property
    def order(self) -> list[Placed]:
        """All objects, each below its owner."""
        if self._order is None:
            self._order = [*tree(self._facts.values())]
        return self._order

    def kinds(self) -> tuple[KindCount, ...]:
        """How many objects of each kind there are."""
        counts = Counter(str(kind.group_kind) for kind, _, _ in self._facts)
        return tuple(KindCount(kind, count) for kind, count in sorted(counts.items()))

    def _replace(self, facts: dict[Key, Facts], *, same_order: bool) -> None:
        order = self._order
        self._facts, self._order = facts, None
        if same_order and order is not None:
            self._order = [
                Placed(facts[placed.facts.kind, placed.facts.namespace, placed.facts.name], placed.depth)
                for placed in order
            ]


def tree(found: Collection[Facts]) -> Iterator[Placed]:
    """Objects by kind, namespace and name, each followed by those that it owns."""
    by_uid = {each.uid: each for each in found if each.uid}
    unnamed = [each for each in found if not each.uid]
    children: dict[str, list[Facts]] = {}
    roots = unnamed
    for each in sorted([*by_uid.values()], key=_sort_key):
        if each.owner_uid in by_uid and each.owner_uid != each.uid:
            children.setdefault(each.owner_uid, []).append(each)
        else:
            roots.append(each)
    roots.sort(key=_sort_key)
    seen: set[int] = set()
    for root in roots:
        yield from _below(root, children, seen)
    for each in by_uid.values():  # owners in a circle: below none
        if id(each) not in seen:
            yield from _below(each, children, seen)


def _below(root: Facts, children: Mapping[str, list[Facts]], seen: set[int]) -> Iterator[Placed]:
    stack = [(root, 0)]
    while stack:
        facts, depth = stack.pop()
        if id(facts) in seen:
            continue
        seen.add(id(facts))
        yield Placed(facts, depth)
        below = children.get(facts.uid, ())
        stack.extend((child, min(depth + 1, _DEEPEST)) for child in reversed(below))


def matcher(search: str, kind: str, hider: Hider, *, hides_fields: bool) -> Callable[[Facts], bool]:
    """Whether an object is of a kind (`Kind.group`; empty: any) and has a text in its name or in a value.

    Values that are hidden are not searched: the answer would reveal them.
    """
    words = search.lower().split()

    def matches(facts: Facts) -> bool:
        if kind and str(facts.kind.group_kind) != kind:
            return False
        if all(word in facts.text for word in words):
            return True
        text = facts.text + _searched(facts, hider, hides_fields=hides_fields)
        return all(word in text for word in words)

    return matches


def _searched(facts: Facts, hider: Hider, *, hides_fields: bool) -> str:
    if facts.kind.group == "" and facts.kind.kind == "Secret":
        return ""
    data = facts.data
    if hides_fields:
        try:
            data = msgspec.json.encode(hider.hide(facts.kind, objects.read(data)))
        except ValueError:
            return ""
    return data.decode(errors="replace").lower()


def _is_same_place(before: Facts, after: Facts) -> bool:
    return before.uid == after.uid and before.owner_uid == after.owner_uid


def _sort_key(facts: Facts) -> tuple[str, str, str]:
    return facts.kind.kind, facts.namespace, facts.name
