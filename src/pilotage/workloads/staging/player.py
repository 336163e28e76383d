"""The controller of a kind that has stages."""

from __future__ import annotations

from datetime import datetime, timedelta

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError, BadRequest, Forbidden, Invalid, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger
from pilotage.workloads.context import Context
from pilotage.workloads.pods.network import PodNetwork
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.stage import ResourceRef, Stage, StageFailed
from pilotage.workloads.staging.places import addresses_of, is_simulated
from pilotage.workloads.staging.waiting import Course, Turn
from pilotage.workloads.staging.writing import write

COMPONENT = "kwok_controller"
"""The source of the Events of stages, as of kwok's."""
_REFUSED = (BadRequest, Forbidden, Invalid)
"""Answers that a retry does not change."""
_log = logger("pilotage.workloads")


class Player:
    """Reconciles the objects of one kind: chooses a stage for each version, waits for its delay, and plays it."""

    def __init__(self, context: Context, resource: ResourceRef) -> None:
        self.kind = GroupVersionKind.of(*resource)
        self._context = context
        self._resource = resource
        self._recorder = context.recorder(COMPONENT)
        self._network = PodNetwork(context.pods)
        self._start: datetime = context.clock()
        self._courses: dict[tuple[str, str], Course] = {}

    async def reconcile(self, request: Request) -> Result | None:
        """Play the stage of an object that is due, or come back when it is."""
        key = request.namespace, request.name
        obj = await self._context.client.find(self.kind, request)
        if obj is None or not is_simulated(self._context, self._resource, obj):
            self._forget(key)
            return None
        course = self._course(key, obj.metadata.uid)
        if course.turn is None or course.turn.version != obj.metadata.resource_version:
            course.turn = self._choose(course, obj)
        turn = course.turn
        self._context.progress.set(key, course.progress, self._resource.kind)
        if turn.stage is None:
            return None
        left = (turn.due - self._context.clock()).total_seconds()
        if left > 0:
            return Result(requeue_after=left)
        goes_on = await self._play(course, turn, turn.stage, obj)
        self._context.progress.set(key, course.progress, self._resource.kind)
        return Result(requeue_after=0.001) if goes_on else None

    def _course(self, key: tuple[str, str], uid: str) -> Course:
        course = self._courses.get(key)
        if course is None or course.uid != uid:
            self._forget(key)
            course = self._courses[key] = Course(uid)
        return course

    def _forget(self, key: tuple[str, str]) -> None:
        self._context.progress.set(key, None, self._resource.kind)
        if (course := self._courses.pop(key, None)) is not None:
            self._network.release(course.uid)

    def _choose(self, course: Course, obj: Unstructured) -> Turn:
        """The stage that comes next. Its delay counts from now."""
        now, document = self._context.clock(), obj.document
        stage: Stage | None = None
        delay = 0.0
        try:
            stage = self._context.lifecycle.choose(*self._resource, document, self._context.random)
            if stage is not None:
                delay = stage.delay(document, now, self._context.random)
        except StageFailed as failure:
            self._note(course, obj, failure.stage, failure)
            stage = None
        return Turn(obj.metadata.resource_version, stage, now + timedelta(seconds=delay))

    async def _play(self, course: Course, turn: Turn, stage: Stage, obj: Unstructured) -> bool:
        """Write what a stage does; whether the next one is chosen at once. Raises ApiError for what is tried again."""
        try:
            if turn.step is None:
                turn.step = stage.step(obj.document, self._moment(obj))
            for action in turn.step.actions[turn.done :]:
                await write(self._context.client, self._recorder, obj, action)
                turn.done += 1
        except (StageFailed, *_REFUSED) as failure:
            self._note(course, obj, stage.name, failure)
        except NotFound:
            pass  # deleted in the meantime
        is_changed = obj.metadata.resource_version != turn.version
        course.played.add(stage.name)
        is_immediate = is_changed and turn.step is not None and turn.step.immediate and not turn.step.deletes
        turn.stage = None
        if is_immediate:
            course.turn = self._choose(course, obj)
        return is_immediate

    def _moment(self, obj: Unstructured) -> Moment:
        addresses = addresses_of(self._resource, obj, self._network)
        return Moment(self._context.clock(), addresses, self._start)

    def _note(self, course: Course, obj: Unstructured, stage: str, failure: ApiError | StageFailed) -> None:
        """Log a failure, once for each object and stage."""
        if stage not in course.failed:
            course.failed.add(stage)
            metadata = obj.metadata
            _log.error(
                "stage failed",
                stage=stage,
                kind=self._resource.kind,
                namespace=metadata.namespace,
                name=metadata.name,
                error=failure,
            )
