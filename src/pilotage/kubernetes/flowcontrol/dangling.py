"""Keeps the condition Dangling of FlowSchemas: whether the priority level that they refer to exists."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.text.gojson import quoted
from pilotage.server.loops.progress import LogLoop

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS = GroupVersionResource(GROUP, "v1", "flowschemas")
FIELD_MANAGER = "api-priority-and-fairness-config-consumer-v1"
"""The field manager that kube-apiserver uses for it."""


class FlowSchemaChecker(LogLoop):
    """Compares all flow schemas with all priority levels after each change of one."""

    name = "flows"
    work = "the conditions of flow schemas are being written"
    collection = f"{GROUP}/"

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
                await self._apply_status(SCHEMAS, schema, FIELD_MANAGER, status)


def condition(level: str, *, exists: bool) -> Document:
    """The condition of a flow schema that refers to a priority level, without its time."""
    refers = f"This FlowSchema references the PriorityLevelConfiguration object named {quoted(level)}"
    if exists:
        return {"type": "Dangling", "status": "False", "reason": "Found", "message": f"{refers} and it exists"}
    message = f"{refers} but there is no such object"
    return {"type": "Dangling", "status": "True", "reason": "NotFound", "message": message}
