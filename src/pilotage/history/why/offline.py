"""Answers from stories alone: of a recording, or of the last commands of a tool. No program runs, and no server is
asked, so types have the names that they have in the stories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import NoMatch
from pilotage.history.stories import NO_KIND, Object, Reconcile
from pilotage.history.why.answer import DEFAULT_LIMIT, Answer, Question, answer
from pilotage.history.why.provenance import Target
from pilotage.meta.kinds import GroupKind

_MOST = 10
"""Kinds that an error names."""


def answer_from(
    stories: Sequence[Reconcile],
    kind: str,
    name: str,
    *,
    namespace: str = "",
    limit: int = DEFAULT_LIMIT,
    field: str = "",
) -> Answer:
    """What stories, the oldest first, have about an object. Raises NoMatch if no story has an object of the kind."""
    found = kind_of(stories, kind)
    places = {each.namespace for each in _parts(stories) if each.kind == found and each.name == name}
    place = namespace or ("" if places == {""} else "default")
    return answer(Question(Target(found, place, name), limit, field), stories)


def kind_of(stories: Sequence[Reconcile], word: str) -> GroupKind:
    """The kind that a word names: `Database`, `database`, `databases` or `databases.example.com`. Raises NoMatch."""
    found = dict.fromkeys(each.kind for each in _parts(stories))
    wanted, _, group = word.lower().partition(".")
    for kind in found:
        if wanted in _words(kind.kind.lower()) and group in ("", kind.group):
            return kind
    known = ", ".join(str(kind) for kind in [*found][:_MOST])
    raise NoMatch(
        f'no recorded reconcile is about a type "{word[:100]}"; they are about: {known}'
        if found
        else "no reconciles are recorded"
    )


def _words(kind: str) -> tuple[str, ...]:
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith(("s", "x", "ch")) else f"{kind}s"
    return kind, plural


def _parts(stories: Sequence[Reconcile]) -> Iterator[Target]:
    """The objects that stories are about."""
    for story in stories:
        if story.kind != NO_KIND:
            yield Target(story.kind.group_kind, story.namespace, story.name)
        parts: tuple[Object, ...] = (*story.causes, *story.writes)
        for part in parts:
            if part.kind != NO_KIND:
                yield Target(part.kind.group_kind, part.namespace, part.name)
