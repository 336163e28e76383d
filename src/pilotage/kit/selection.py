"""What the arguments of a command select: `TYPE`, `TYPE NAME…`, `TYPE/NAME…`, `TYPE,TYPE`, or the objects of files."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.errors import NoMatch
from pilotage.kit.console.errors import UsageError
from pilotage.kit.session import CommandSession
from pilotage.meta.mapping.mapper import AmbiguousMatch, RESTMapping
from pilotage.meta.values import Value

_NO_TYPE = "Required resource not specified: give TYPE, TYPE NAME or TYPE/NAME. `api-resources` lists the types."
_MIXED = (
    "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form "
    "(e.g. 'get resource/<resource_name>' instead of 'get resource resource/<resource_name>'"
)
_LISTED = 12
"""So many types are listed in an error: a tool has few, and a server many."""


class SelectedObjects(Value, frozen=True):
    """A resource, and the name of one of its objects; without a name, all of them."""

    mapping: RESTMapping
    name: str = ""
    namespace: str = ""
    """The namespace of an object that a file names; empty: the namespace of the command."""
    source: str = ""
    """The file that names the object."""


def selected(session: CommandSession, words: Sequence[str]) -> list[SelectedObjects]:
    """What the words select. Raises CommandError and NoMatch."""
    if not words:
        raise UsageError(_NO_TYPE)
    if any("/" in word for word in words):
        return [_named(session, word) for word in words]
    types, *names = words
    if not all(names):
        raise UsageError("resource name may not be empty")
    mappings = [mapping for word in types.split(",") for mapping in of_type(session, word)]
    if not names:
        return [SelectedObjects(mapping) for mapping in mappings]
    return [SelectedObjects(mapping, name) for mapping in mappings for name in names]


def of_type(session: CommandSession, word: str) -> list[RESTMapping]:
    """The resources with this name or category. Raises NoMatch."""
    try:
        return [mapping_of(session, word)]
    except NoMatch:
        listed = [one for one in session.mapper.mappings if word in one.categories]
        if not listed:
            raise
        return listed


def mapping_of(session: CommandSession, word: str) -> RESTMapping:
    """The resource with this name. Raises NoMatch, with the name that was probably meant, or all if they are few."""
    try:
        return session.mapper.mapping_for(word)
    except NoMatch as error:
        from difflib import get_close_matches

        names = {name for one in session.mapper.mappings for name in (one.resource.resource, one.singular)}
        close = get_close_matches(word.lower(), sorted(names), n=1, cutoff=0.75)
        types = sorted({one.resource.resource for one in session.mapper.mappings})
        if isinstance(error, AmbiguousMatch) or (not close and len(types) > _LISTED):
            raise
        hint = f'did you mean "{close[0]}"?' if close else f"there are: {', '.join(types)}"
        raise NoMatch(f"{error}; {hint}") from None


def _named(session: CommandSession, word: str) -> SelectedObjects:
    kind, slash, name = word.partition("/")
    if not slash:
        raise UsageError(_MIXED)
    if not kind or not name or "/" in name:
        raise UsageError("arguments in resource/name form must have a single resource and name")
    return SelectedObjects(mapping_of(session, kind), name)
