"""A report: the page as one file with the data inside, which opens without a server."""

from __future__ import annotations

import math

from pilotage.dashboard.dashboard import Dashboard
from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.page import report_page
from pilotage.dashboard.query import Query
from pilotage.dashboard.rows import document, versions
from pilotage.dashboard.state.facts import Facts
from pilotage.dashboard.state.past import events_since
from pilotage.dashboard.summaries import story, summary
from pilotage.dashboard.timeline import timeline
from pilotage.dashboard.values import ObjectList, Overview, Story, Summary, Timeline, Version, encode
from pilotage.history.runs import Run
from pilotage.meta.values import Value

MOST_OBJECTS = 2000
MOST_RECONCILES = 1000
_MOST_FAILURE = 100_000
"""Characters of the failure."""


class Report(Value, frozen=True):
    """What a report has inside: the answers to the requests of the page."""

    title: str
    failure: str
    overview: Overview
    objects: ObjectList
    documents: dict[str, dict[str, object]]
    """By `Kind.group/namespace/name`."""
    versions: dict[str, tuple[Version, ...]]
    reconciles: tuple[Story, ...]
    summaries: tuple[Summary, ...]
    timeline: Timeline


async def report(sources: Sources, title: str, failure: str = "") -> bytes:
    """The file. Of very many objects and reconciles it has the first and the last."""
    dashboard = Dashboard(sources)
    await dashboard.read_objects()
    runs = [*sources.history.ring.entries][-MOST_RECONCILES:]
    rows, shown = dashboard.all_rows(MOST_OBJECTS)
    events = events_since(sources.history, sources.waiting())
    data = Report(
        title=title,
        failure=failure[:_MOST_FAILURE],
        overview=dashboard.overview(Query("", ())),
        objects=rows,
        documents={_name(each): document(sources, each.kind, each.data) for each in shown},
        versions={_name(each): versions(sources, (each.kind, each.namespace, each.name), events) for each in shown},
        reconciles=_newest_first(runs, sources),
        summaries=tuple(summary(sources, run) for run in reversed(runs)),
        timeline=timeline(sources, -math.inf, math.inf, lambda kind, namespace, name: True),
    )
    return report_page(encode(data), title)


def _newest_first(runs: list[Run], sources: Sources) -> tuple[Story, ...]:
    return tuple(story(sources, run) for run in reversed(runs))


def _name(facts: Facts) -> str:
    return f"{facts.kind.group_kind}/{facts.namespace}/{facts.name}"
