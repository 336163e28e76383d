"""Checks of the names of a kind: group, version, plural and the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.meta.models import ResourceDefinition
from pilotage.meta.validation.names import dns_1035_label, dns_1123_subdomain

_PROTECTED = ("k8s.io", "kubernetes.io")
APPROVED = "api-approved.kubernetes.io"
_LOWER = "at most 63 lower-case letters, digits and '-', starting with a letter"


def name_problems(info: ResourceDefinition) -> Iterator[tuple[str, str]]:
    """What is wrong with the names of a kind, and what to do, in pairs."""
    yield from _group_problems(info)
    labels = [("lower-case kind", info.gvk.kind.lower()), ("lower-case list kind", info.list_kind.lower())]
    labels += [("version", info.gvk.version), ("plural", info.plural), ("singular", info.singular)]
    labels += [("short name", name) for name in info.short_names]
    labels += [("category", name) for name in info.categories]
    for what, text in labels:
        if dns_1035_label(text):
            yield f"the {what} {text!r} is not a DNS label", f"use {_LOWER}"
    for twice in sorted(_repeated([*info.short_names, info.plural, info.singular])):
        if (twice == info.plural == info.singular) and twice not in info.short_names:
            continue  # plural and singular may be the same word
        yield f"the name {twice!r} is used twice", "list each short name once, without the plural and singular"
    for twice in sorted(_repeated(info.categories)):
        yield f"the category {twice!r} is listed twice", "list it once"


def _group_problems(info: ResourceDefinition) -> Iterator[tuple[str, str]]:
    group = info.gvk.group
    if "." not in group:
        yield f"the group {group!r} has no dot", "use a domain of your own, as in 'databases.example.com'"
    elif dns_1123_subdomain(group):
        yield f"the group {group!r} is not a DNS subdomain", "use lower-case letters, digits, '-' and '.'"
    protected = any(group == owned or group.endswith(f".{owned}") for owned in _PROTECTED)
    if protected and not info.annotations.get(APPROVED):
        yield (
            f"the group {group!r} belongs to the Kubernetes project",
            f"use a domain of your own, or set the annotation {APPROVED} to the URL of the approval",
        )


def _repeated(names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value] # set.add gives None
