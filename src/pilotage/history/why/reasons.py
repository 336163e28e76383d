"""Why an object is not reconciled now, or when it will be: decided from its situation, as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.history.stories import Cause
from pilotage.history.text import changes_text, duration_text, write_text
from pilotage.history.why.situation import ControllerState, Situation
from pilotage.meta.text.counts import counted
from pilotage.meta.values import Value

_MOST = 5
"""Things that a sentence names."""
_REPEATED = 20
"""Reconciles in a row because of own writes; a reconciler that converges in steps takes fewer."""
_FOREGROUND = "foregroundDeletion"


class Reason(Value, frozen=True):
    """A sentence, and a code for programs."""

    code: str
    text: str


def reasons(situation: Situation) -> tuple[Reason, ...]:
    """What holds up the reconciles of an object, the most important first; that nothing does, if nothing does."""
    found = [
        *_of_object(situation),
        *_of_loop(situation),
        *_of_program(situation),
        *_of_controllers(situation),
        *_of_events(situation),
    ]
    if not found:
        found = [_nothing(situation)]
    return (*found, *_of_history(situation))


def _of_object(situation: Situation) -> Iterator[Reason]:
    title = situation.title
    if situation.exists is False:
        hint = ""
        if situation.elsewhere:
            places = _listed(situation.elsewhere)
            hint = f"; there is one with this name in the namespace {places}: add -n {situation.elsewhere[0]}"
        yield Reason("not-found", f"{title} does not exist{hint}")
    elif situation.unread:
        yield Reason("not-readable", f"whether {title} exists is not known: {situation.unread}")
    elif situation.watched and situation.namespace and situation.namespace not in situation.watched:
        yield Reason(
            "namespace",
            f"this program watches {situation.kind} only in {_listed(situation.watched)}, and not in "
            f"{situation.namespace}: see its option for namespaces (-n of pilotage run, CacheOptions)",
        )
    elif situation.is_filtered:
        yield Reason(
            "not-cached",
            f"{title} exists, and the cache of this program does not have it: the selectors of its cache "
            "(CacheOptions) leave it out, or the watch is late",
        )
    if situation.deleted is not None and situation.finalizers:
        since = f"{situation.deleted:%H:%M:%S}"
        names = _listed([_finalizer_text(each.name, each.manager) for each in situation.finalizers])
        yield Reason(
            "finalizers",
            f"{title} is being deleted since {since}, and exists until these finalizers are removed: {names}",
        )


def _of_loop(situation: Situation) -> Iterator[Reason]:
    loop = situation.history.loop
    if loop is not None and loop.in_a_row >= _REPEATED:
        yield Reason(
            "hot-loop",
            f"it is reconciled again and again because of the writes of its reconciles: {loop.in_a_row} times in a row "
            f"until #{loop.number}, which wrote {write_text(loop.writes[-1])}. Write only what differs, for example "
            "with create_or_patch or set_status_condition",
        )


def _finalizer_text(name: str, manager: str) -> str:
    if name == _FOREGROUND:
        return f"{name} (the API server removes it when the dependents of the object are deleted)"
    return f"{name} (set by {manager})" if manager else name


def _of_program(situation: Situation) -> Iterator[Reason]:
    if situation.start:
        yield Reason("not-running", situation.start)
    kind, controllers = situation.kind, situation.controllers
    if not controllers:
        others = f"; its controllers are {_listed(situation.others)}" if situation.others else "; it has no controller"
        yield Reason("not-watched", f"no controller of this program watches {kind}{others}")
    elif all(each.relation != "for" for each in controllers):
        yield Reason("not-reconciled", _not_reconciled(situation))
    if situation.watch and controllers:
        yield Reason("watch", f"the watch of {kind} delivers no events: {situation.watch}")
    state = situation.leadership
    if not state.leads and any(each.needs_leader for each in controllers) and not situation.start:
        leader = f"the leader is {state.leader}" if state.leader else "no replica leads yet"
        lease = f" (lease {state.lease})" if state.lease else ""
        yield Reason("not-leading", f"this replica does not lead, so its controllers wait; {leader}{lease}")


def _not_reconciled(situation: Situation) -> str:
    watchers = [
        f"{each.name} {_verb(each)} {situation.kind} and reconciles {_kind(each)}" for each in situation.controllers
    ]
    text = f"no controller is for {situation.kind}: {_listed(watchers)}"
    if situation.owners:
        return f"{text}; ask for the owner: pilotage why {situation.owners[0]}"
    if situation.exists and any(each.relation == "owns" for each in situation.controllers):
        return f"{text}; {situation.title} has no owner, so it leads to no request of a controller that owns its kind"
    return text


def _verb(state: ControllerState) -> str:
    return "owns" if state.relation == "owns" else "watches"


def _kind(state: ControllerState) -> str:
    return state.kind or "requests of its own"


def _of_controllers(situation: Situation) -> Iterator[Reason]:
    for state in situation.controllers:
        prefix = f"controller {state.name}"
        if state.is_stopped:
            yield Reason("stopped", f"{prefix} was stopped")
        elif state.waits_for and not (state.needs_leader and not situation.leadership.leads):
            yield Reason("not-started", f"{prefix}: {state.waits_for}")
        if state.trouble:
            yield Reason("events-wait", f"{prefix}: {state.trouble}")
        if state.relation == "for":
            yield from _of_request(situation, state, prefix)


def _of_request(situation: Situation, state: ControllerState, prefix: str) -> Iterator[Reason]:
    if state.is_elsewhere:
        yield Reason(
            "shard",
            f"{prefix}: another one of {counted(state.replicas, 'replica')} works on {situation.title}; ask that one",
        )
    if state.running is not None:
        place = f", at {state.place}" if state.place else ""
        yield Reason("running", f"{prefix}: a reconcile has been running for {duration_text(state.running)}{place}")
    if state.due is None:
        return
    again = f"{prefix}: the next reconcile is" if state.running is None else f"{prefix}: another reconcile is"
    why = _why_queued(state)
    if state.due > 0:
        yield Reason("waiting", f"{again} due in {duration_text(state.due)}{why}")
    elif state.running is not None:
        yield Reason("queued", f"{again} on the queue, for when this one has ended{why}")
    else:
        before = f" behind {counted(state.ahead, 'other request')}" if state.ahead else ""
        busy = "its worker is" if state.workers == 1 else f"its {state.workers} workers are"
        yield Reason("queued", f"{again} on the queue{before}{why}: {busy} busy with other objects")


def _why_queued(state: ControllerState) -> str:
    if state.error:
        times = "once" if state.tries == 1 else f"{state.tries} times in a row"
        return f", because it failed {times}, last with {state.error}"
    if state.tries:
        return f", because the reconciler returned requeue {counted(state.tries, 'time')}"
    return f", because {state.queued}" if state.queued else ""


def _of_events(situation: Situation) -> Iterator[Reason]:
    """The events that were dropped after the last reconcile began."""
    last = situation.history.last
    for cause in situation.history.dropped:
        if last is None or cause.at >= last.began:
            yield Reason("dropped", dropped_text(cause))


def dropped_text(cause: Cause) -> str:
    """An event that led to no request: what changed, when, and who dropped it."""
    did = {"create": "the creation", "delete": "the deletion", "initial": "the first state"}.get(
        cause.type, "the change"
    )
    if cause.write is not None:
        did = f"the {cause.write.verb} by reconcile #{cause.reconcile}"
    by = f" by {cause.manager}" if cause.manager and cause.write is None else ""
    fields = f" ({changes_text(cause.changes)})" if cause.changes else ""
    if cause.type == "update" and not cause.changes and not cause.is_forgotten:
        fields = " (no field but those that the API server sets)"
    return f"{did} of {cause.title} at {cause.at:%H:%M:%S}{by}{fields} was {cause.text}"


def _nothing(situation: Situation) -> Reason:
    last = situation.history.last
    if last is None:
        if situation.history.begins is not None or not situation.history.enabled:
            return Reason("last", "nothing is pending: the request is not on a queue")
        return Reason("never", "it has not been reconciled, and nothing is pending: no event of it has arrived")
    if last.error is not None:
        return Reason(
            "terminal",
            f"the last reconcile (#{last.number}) failed with an error that is not retried: {last.error}; the next one "
            "runs when the object changes",
        )
    return Reason(
        "last",
        f"nothing is pending: the last reconcile (#{last.number}) ended with {last.result}, and no change has arrived "
        "since",
    )


def _of_history(situation: Situation) -> Iterator[Reason]:
    history = situation.history
    if not history.enabled:
        yield Reason(
            "no-history", "the history of this program is off (HistoryOptions(enabled=False)), so there are no stories"
        )
    elif history.last is None and history.begins is not None:
        yield Reason(
            "history-begins",
            f"the history begins at {history.begins:%H:%M:%S}; older reconciles were dropped, because it is full "
            "(HistoryOptions.max_bytes)",
        )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
