"""The first view: what the controllers do, and what needs attention."""

from __future__ import annotations

import itertools

import msgspec

from pilotage.controller.controller import ControllerStatistics
from pilotage.controller.request import Request
from pilotage.dashboard.attention import MOST, NextOf, attention
from pilotage.dashboard.gathering import Gathered, Sources
from pilotage.dashboard.state.follower import Follower
from pilotage.dashboard.state.past import oldest
from pilotage.dashboard.values import Attention, ControllerRow, Overview


def overview(
    sources: Sources, found: Gathered, follower: Follower, next_of: NextOf, *, with_series: bool = True
) -> Overview:
    """The overview now."""
    rows = tuple(
        _row(sources, found.now, name, state, follower, with_series=with_series)
        for name, state in found.controllers.items()
    )
    return _overview(sources, found, rows, attention(found, follower, next_of), found.now)


def past_overview(sources: Sources, found: Gathered, follower: Follower, moment: float) -> Overview:
    """The overview at an earlier moment: figures and failures from the recorded runs, watches and leader as now."""
    rows = []
    for name, state in found.controllers.items():
        row = _row(sources, moment, name, state, follower, with_series=True)
        figures = follower.tally(name)
        rows.append(msgspec.structs.replace(row, queued=figures.queued, delayed=0, running=len(figures.runs)))
    return _overview(sources, found, tuple(rows), past_attention(follower, found), moment)


def past_attention(follower: Follower, found: Gathered) -> tuple[Attention, ...]:
    """The objects whose last reconcile so far had failed."""
    failed = ((key, last) for key, last in follower.last_runs.items() if last.error)
    return tuple(
        Attention(
            level="error",
            title=f"{controller} {Request(name, namespace)}",
            text=f"failed with {last.error}",
            place=last.place,
            kind=_kind(found.controllers.get(controller)),
            namespace=namespace,
            name=name,
            reconcile=last.number,
        )
        for (controller, namespace, name), last in itertools.islice(failed, MOST)
    )


def _overview(
    sources: Sources, found: Gathered, rows: tuple[ControllerRow, ...], items: tuple[Attention, ...], moment: float
) -> Overview:
    first = oldest(sources.history)
    return Overview(
        program=sources.program,
        now=sources.time_of(moment),
        since=sources.time_of(first) if first is not None else None,
        leader=found.leader,
        shards=found.shards,
        controllers=rows,
        watches=found.watches,
        attention=items,
    )


def _row(
    sources: Sources, now: float, name: str, state: ControllerStatistics, follower: Follower, *, with_series: bool
) -> ControllerRow:
    figures = follower.tally(name).figures(now, sources.time_of, with_series=with_series)
    return ControllerRow(
        name=name,
        kind=_kind(state),
        rate=figures.rate,
        queued=state.ready,
        delayed=state.delayed,
        running=state.running,
        workers=state.workers,
        errors=figures.errors,
        p50=figures.p50,
        p95=figures.p95,
        last=figures.last,
        series=figures.series,
    )


def _kind(state: ControllerStatistics | None) -> str:
    return str(state.kind.group_kind) if state is not None and state.kind is not None else ""
