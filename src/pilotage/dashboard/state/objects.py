"""The objects of the caches as a list: each below its owner, with what its last reconcile did.

The facts of an object are read again only if its bytes have changed, and the order is computed again only if objects
were added, were removed or have another owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pilotage.dashboard.state.facts import Facts, facts_of
from pilotage.dashboard.values import KindCount
from pilotage.history.secrets import Hider
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.reflector.intake import Item

_DEEPEST = 20
"""Levels of owners that are shown below each other."""

Key = tuple[GroupVersionKind, str, str]
"""Kind, namespace and name."""
Name = tuple[str, str]
"""Namespace and name."""


class Placed(NamedTuple):
    """An object in the list, and how many owners are above it."""

    facts: Facts
    depth: int


class ObjectIndex:
    """The facts of all objects, and their order."""

    def __init__(self, kinds: Mapping[GroupVersionKind, Mapping[Name, Facts]] | None = None) -> None:
        self._kinds = {kind: dict(facts) for kind, facts in (kinds or {}).items()}
        self._order: list[Placed] | None = None

    def update(self, found: Iterable[tuple[GroupVersionKind, Sequence[Item]]]) -> Iterator[None]:
        """Take all objects as they are now, by kind. A generator: it yields after each object that was read, so that
        the caller can let other tasks run."""
        kinds: dict[GroupVersionKind, dict[Name, Facts]] = {}
        for kind, items in found:
            known = self._kinds.get(kind, {})
            facts = kinds.setdefault(kind, {})
            for item in items:
                key = item.namespace, item.name
                if key in facts:  # of another informer
                    continue
                before = known.get(key)
                if before is None:
                    before = facts_of(kind, *key, item.data)
                    self._order = None
                    yield
                elif before.data is not item.data:
                    self._read(before, item.data)
                    yield
                facts[key] = before
        if any(len(self._kinds.get(kind, ())) != len(facts) for kind, facts in kinds.items()) or (
            len(kinds) != len(self._kinds)
        ):
            self._order = None
        self._kinds = kinds

    def changed(self, changes: Mapping[Key, bytes | None]) -> ObjectIndex:
        """A copy in which some objects have other bytes, or (None) do not exist."""
        made = ObjectIndex(self._kinds)
        for (kind, namespace, name), data in changes.items():
            facts = made._kinds.setdefault(kind, {})
            if data is None:
                facts.pop((namespace, name), None)
            else:
                facts[namespace, name] = facts_of(kind, namespace, name, data)
        return made

    def find(self, kind: str, namespace: str, name: str) -> Placed | None:
        """An object by its name and `Kind.group`."""
        for known, facts in self._kinds.items():
            if str(known.group_kind) == kind and (namespace, name) in facts:
                return Placed(facts[namespace, name], 0)
        return None

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    @property
    def order(self) -> list[Placed]:
        """All objects, each below its owner."""
        if self._order is None:
            self._order = [*tree([each for facts in self._kinds.values() for each in facts.values()])]
        return self._order

    def kinds(self) -> tuple[KindCount, ...]:
        """How many objects of each kind there are."""
        counts: Counter[str] = Counter()
        for kind, facts in self._kinds.items():
            counts[str(kind.group_kind)] += len(facts)
        return tuple(KindCount(kind, count) for kind, count in sorted(counts.items()) if count)

    def _read(self, facts: Facts, data: bytes) -> None:
        uid, owner = facts.uid, facts.owner_uid
        facts.read(data)
        if (facts.uid, facts.owner_uid) != (uid, owner):
            self._order = None


def tree(found: Collection[Facts]) -> Iterator[Placed]:
    """Objects by kind, namespace and name, each followed by those that it owns."""
    ordered = sorted(found, key=_sort_key)
    uids = {each.uid for each in ordered if each.uid}
    children: dict[str, list[Facts]] = {}
    roots: list[Facts] = []
    for each in ordered:
        if each.owner_uid in uids and each.owner_uid != each.uid:
            children.setdefault(each.owner_uid, []).append(each)
        else:
            roots.append(each)
    seen: set[int] = set()
    for root in (*roots, *ordered):  # the latter for owners in a circle, which are below none
        if id(root) not in seen:
            yield from _below(root, children, seen)


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


def _sort_key(facts: Facts) -> tuple[str, str, str]:
    return facts.kind.kind, facts.namespace, facts.name
