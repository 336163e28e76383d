"""Keeps the condition Dangling of FlowSchemas: whether the priority level that they refer to exists."""

from __future__ import annotations

from contextlib import suppress

from pilotage.errors import Conflict, NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.text.gojson import quoted
from pilotage.server.context import RegistryContext
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.loops.statuses import apply_status

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS = GroupVersionResource(GROUP, "v1", "flowschemas")
FIELD_MANAGER = "api-priority-and-fairness-config-consumer-v1"
"""The field manager that kube-apiserver uses for it."""


class FlowSchemaChecker(LogLoop):
    """Compares all flow schemas with all priority levels after each change of one."""

    name = "flows"
    work = "the conditions of flow schemas are being written"

    def __init__(self, context: RegistryContext, note: Note) -> None:
        super().__init__(context, f"{GROUP}/")
        self._note = note

    async def _run(self) -> None:
        await self._reader.existing()
        while True:
            await self._check()
            await self._reader.next()

    async def _check(self) -> None:
        levels = {level["metadata"]["name"] for level in await self._list(f"{GROUP}/prioritylevelconfigurations/")}
        for schema in await self._list(f"{GROUP}/{SCHEMAS.resource}/"):
            name = schema["spec"]["priorityLevelConfiguration"]["name"]
            wanted = condition(name, exists=name in levels)
            if not any(wanted.items() <= one.items() for one in (schema.get("status") or {}).get("conditions") or ()):
                status = {"conditions": [wanted | {"lastTransitionTime": self._context.now()}]}
                with suppress(NotFound, Conflict):  # it was deleted, or replaced by another one
                    await apply_status(self._context, self._note, SCHEMAS, schema, FIELD_MANAGER, status)


def condition(level: str, *, exists: bool) -> Document:
    """The condition of a flow schema that refers to a priority level, without its time."""
    refers = f"This FlowSchema references the PriorityLevelConfiguration object named {quoted(level)}"
    if exists:
        return {"type": "Dangling", "status": "False", "reason": "Found", "message": f"{refers} and it exists"}
    return {
        "type": "Dangling",
        "status": "True",
        "reason": "NotFound",
        "message": f"{refers} but there is no such object",
    }
