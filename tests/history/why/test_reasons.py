"""Why an object is not reconciled: a table of situations, and what is printed for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage.history.differences import Change
from pilotage.history.stories import Cause, Reconcile, Write
from pilotage.history.why.reasons import reasons
from pilotage.history.why.situation import ControllerState, Finalizer, HistoryState, LeadershipState, Situation
from pilotage.meta.kinds import GroupVersionKind

NOW = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)
DATABASE = GroupVersionKind("example.com", "v1", "Database")
LAST = Reconcile(
    number=7, controller="database", kind=DATABASE, namespace="default", name="main", began=NOW, result="success"
)
WELL = Situation(
    kind="Database",
    namespace="default",
    name="main",
    now=NOW,
    exists=True,
    controllers=(ControllerState(name="database", kind="Database", needs_leader=True),),
    history=HistoryState(last=LAST),
)
DROPPED = Cause(
    type="update",
    at=NOW + timedelta(seconds=1),
    kind=DATABASE,
    namespace="default",
    name="main",
    manager="kubectl-label",
    changes=(Change("metadata.labels.team", new="a"),),
    text="dropped by predicate generation_changed",
)


def on_queue(**state: Any) -> Situation:
    """The situation with another state of the controller."""
    return replace(WELL, controllers=(replace(WELL.controllers[0], **state),))


def with_history(**state: Any) -> Situation:
    return replace(WELL, history=replace(WELL.history, **state))


@dataclass(frozen=True)
class Row:
    situation: Situation
    said: dict[str, str] = field(default_factory=dict)


TABLE = {
    "all is well": Row(WELL, {"last": "nothing is pending: the last reconcile (#7) ended with success, and no change"}),
    "never": Row(with_history(last=None), {"never": "it has not been reconciled, and nothing is pending"}),
    "does not exist": Row(
        replace(WELL, exists=False, elsewhere=("team-a", "team-b")),
        {
            "not-found": "Database default/main does not exist; there is one with this name in the namespace team-a, "
            "team-b: add -n team-a"
        },
    ),
    "in a namespace that is not watched": Row(
        replace(WELL, watched=("a", "b"), is_filtered=True),
        {"namespace": "this program watches Database only in a, b, and not in default: see its option for namespaces"},
    ),
    "in a namespace that is watched": Row(replace(WELL, watched=("default",)), {"last": "nothing is pending"}),
    "left out by a selector": Row(
        replace(WELL, is_filtered=True),
        {"not-cached": "Database default/main exists, and the cache of this program does not have it: the selectors"},
    ),
    "cannot be read": Row(
        replace(WELL, exists=None, unread="databases is forbidden"),
        {"not-readable": "whether Database default/main exists is not known: databases is forbidden"},
    ),
    "not watched": Row(
        replace(WELL, controllers=(), others=("user (User)", "backup (Backup)")),
        {
            "not-watched": "no controller of this program watches Database; its controllers are user (User), backup "
            "(Backup)"
        },
    ),
    "no controllers": Row(replace(WELL, controllers=()), {"not-watched": "it has no controller"}),
    "owned by another kind": Row(
        replace(WELL, controllers=(ControllerState(name="app", kind="App", relation="owns"),), owners=("app/shop",)),
        {
            "not-reconciled": "no controller is for Database: app owns Database and reconciles App; ask for the owner: "
            "pilotage why app/shop"
        },
    ),
    "without an owner": Row(
        replace(WELL, controllers=(ControllerState(name="app", kind="App", relation="owns"),)),
        {"not-reconciled": "Database default/main has no owner, so it leads to no request"},
    ),
    "watched by requests": Row(
        replace(WELL, controllers=(ControllerState(name="app", relation="watches"),)),
        {"not-reconciled": "app watches Database and reconciles requests of its own"},
    ),
    "dropped by a predicate": Row(
        with_history(dropped=(DROPPED,)),
        {
            "dropped": "the change of Database default/main at 10:00:01 by kubectl-label (metadata.labels.team: (none) "
            "→ 'a') was dropped by predicate generation_changed"
        },
    ),
    "dropped before the last reconcile": Row(
        with_history(dropped=(replace(DROPPED, at=NOW - timedelta(seconds=1)),)), {"last": "nothing is pending"}
    ),
    "its own write was dropped": Row(
        with_history(
            dropped=(replace(DROPPED, write=Write(verb="patch", at=NOW), reconcile=7, changes=(), is_forgotten=True),)
        ),
        {"dropped": "the patch by reconcile #7 of Database default/main at 10:00:01 was dropped by predicate"},
    ),
    "mapped to no request": Row(
        with_history(dropped=(replace(DROPPED, text="dropped by handler owners, which returned no request"),)),
        {"dropped": "was dropped by handler owners, which returned no request"},
    ),
    "only fields of the server": Row(
        with_history(dropped=(replace(DROPPED, changes=()),)),
        {"dropped": "(no field but those that the API server sets) was dropped"},
    ),
    "backoff": Row(
        on_queue(due=2.5, tries=3, error="ValueError: no"),
        {
            "waiting": "controller database: the next reconcile is due in 2.5 s, because it failed 3 times in a row, "
            "last with ValueError: no"
        },
    ),
    "failed once": Row(on_queue(due=0.25, tries=1, error="no"), {"waiting": "due in 250 ms, because it failed once"}),
    "requeue": Row(on_queue(due=1.0, tries=2), {"waiting": "because the reconciler returned requeue 2 times"}),
    "requeue_after": Row(
        on_queue(due=30.0, queued="reconcile #7 returned requeue_after=30"),
        {"waiting": "the next reconcile is due in 30 s, because reconcile #7 returned requeue_after=30"},
    ),
    "in the queue": Row(
        on_queue(due=0.0, ahead=12, workers=2),
        {
            "queued": "controller database: the next reconcile is on the queue behind 12 other requests: its 2 workers "
            "are busy with other objects"
        },
    ),
    "running": Row(
        on_queue(running=65.0, place="db.py:12 in reconcile"),
        {"running": "controller database: a reconcile has been running for 65 s, at db.py:12 in reconcile"},
    ),
    "running and queued": Row(
        on_queue(running=1.0, due=0.0),
        {
            "running": "has been running for 1 s",
            "queued": "controller database: another reconcile is on the queue, for when this one has ended",
        },
    ),
    "not leading": Row(
        replace(WELL, leadership=LeadershipState(leads=False, lease="default/db", leader="host-b")),
        {"not-leading": "this replica does not lead, so its controllers wait; the leader is host-b"},
    ),
    "no replica leads": Row(
        replace(WELL, leadership=LeadershipState(leads=False)), {"not-leading": "no replica leads yet"}
    ),
    "a controller that needs no leader": Row(
        replace(on_queue(needs_leader=False), leadership=LeadershipState(leads=False)), {"last": "nothing is pending"}
    ),
    "a shard of another replica": Row(
        on_queue(is_elsewhere=True, replicas=3),
        {"shard": "controller database: another one of 3 replicas works on Database default/main; ask that one"},
    ),
    "waits for its watch": Row(
        on_queue(waits_for="it has not started: it waits for kind source: *v1.Database (forbidden) to sync"),
        {"not-started": "controller database: it has not started: it waits for kind source: *v1.Database (forbidden)"},
    ),
    "stopped": Row(on_queue(is_stopped=True), {"stopped": "controller database was stopped"}),
    "a handler fails": Row(
        on_queue(trouble="kind source: *v1.Database: the handler or a predicate failed 3 times"),
        {"events-wait": "controller database: kind source: *v1.Database: the handler or a predicate failed 3 times"},
    ),
    "starting": Row(
        replace(WELL, start="the program is starting: it waits for cache"), {"not-running": "the program is starting"}
    ),
    "the watch is down": Row(
        replace(WELL, watch="connection refused for 12 s"),
        {"watch": "the watch of Database delivers no events: connection refused for 12 s"},
    ),
    "a finalizer": Row(
        replace(
            WELL,
            deleted=NOW,
            finalizers=(Finalizer("example.com/backup", "backup"), Finalizer("foregroundDeletion"), Finalizer("x/y")),
        ),
        {
            "finalizers": "Database default/main is being deleted since 10:00:00, and exists until these finalizers "
            "are removed: example.com/backup (set by backup), foregroundDeletion (the API server removes it when the "
            "dependents of the object are deleted), x/y"
        },
    ),
    "finalizers of an object that is not deleted": Row(
        replace(WELL, finalizers=(Finalizer("example.com/backup"),)), {"last": "nothing is pending"}
    ),
    "a terminal error": Row(
        with_history(last=replace(LAST, result="error", error="TerminalError: no")),
        {
            "terminal": "the last reconcile (#7) failed with an error that is not retried: TerminalError: no; the next "
            "one runs when the object changes"
        },
    ),
    "without a history": Row(
        with_history(enabled=False, last=None),
        {
            "last": "nothing is pending: the request is not on a queue",
            "no-history": "the history of this program is off",
        },
    ),
    "older than the history": Row(
        with_history(begins=NOW, last=None),
        {
            "last": "nothing is pending",
            "history-begins": "the history begins at 10:00:00; older reconciles were dropped, because it is full",
        },
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_each_situation_has_its_sentences(row: Row) -> None:
    found = {reason.code: reason.text for reason in reasons(row.situation)}
    assert found.keys() == row.said.keys()
    for code, text in row.said.items():
        assert text in found[code]


def test_a_long_list_of_controllers_is_cut() -> None:
    situation = replace(WELL, controllers=(), others=tuple(f"c{number}" for number in range(100)))
    (reason,) = reasons(situation)
    assert reason.text.endswith("its controllers are c0, c1, c2, c3, c4 and 95 more")
