"""What a controller does with one request now: whether it runs, waits, is retried, or belongs to another replica."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pilotage.controller.request import Request
from pilotage.history.records import RetryNote, TextNote
from pilotage.history.why.situation import ControllerState
from pilotage.tasks import frames_of
from pilotage.telemetry import stack

if TYPE_CHECKING:
    from pilotage.controller.sources.runningsources import RunningSources
    from pilotage.controller.worker import Job, Worker


def controller_state(job: Job, relation: str, sources: RunningSources, **facts: Any) -> ControllerState:
    """The state of a controller that watches a kind in some relation."""
    busy = sources.busy(0.0)
    return ControllerState(
        name=job.controller,
        kind=job.kind.kind if job.kind is not None else "",
        relation=relation,
        waits_for=busy[0] if busy and not sources.has_synced else "",
        trouble="; ".join(busy) if sources.has_synced else "",
        **facts,
    )


def with_request(
    state: ControllerState, request: Request, job: Job, workers: Mapping[asyncio.Task[None], Worker]
) -> ControllerState:
    """The state of a controller, and the state of a request in it."""
    place, gate = job.queue.place_of(request), job.gate
    unfinished = job.activity.unfinished.get(request)
    running = job.queue.in_progress().get(request)
    return replace(
        state,
        running=running,
        place=_line(request, workers) if running is not None else "",
        due=place.seconds if place is not None else None,
        ahead=place.ahead if place is not None else 0,
        queued=_queued(place.notes) if place is not None else "",
        tries=unfinished.tries if unfinished is not None else 0,
        error=unfinished.error if unfinished is not None else "",
        is_elsewhere=gate is not None and not gate.owns(request),
        replicas=gate.replicas if gate is not None else 0,
    )


def _line(request: Request, workers: Mapping[asyncio.Task[None], Worker]) -> str:
    """The line of the program at which the reconcile of a request is, in its task or in its thread."""
    task = next((task for task, worker in workers.items() if worker.request == request), None)
    place = stack.place_of(frames_of(task)) if task is not None else ""
    return place or _line_in_thread(request)


def _line_in_thread(request: Request) -> str:
    """The same of a reconciler that is not async: its thread has the name of the request meanwhile."""
    name = f"reconcile {request}"
    idents = [thread.ident for thread in threading.enumerate() if thread.name == name and thread.ident is not None]
    frame = stack.frame_of(idents[0]) if idents else None
    return stack.place_of([*stack.frames_of_the_loop(frame)][::-1])


def _queued(notes: tuple[object, ...]) -> str:
    """What put a request on the queue, as a sentence, where all of it is no event."""
    texts = [_reason(note) for note in notes]
    return texts[-1] if texts and all(texts) else ""


def _reason(note: object) -> str:
    if isinstance(note, RetryNote):
        return f"reconcile #{note.number} {'failed' if note.error else f'returned {note.result}'}"
    return f"the program put it there ({note.text})" if isinstance(note, TextNote) else ""
