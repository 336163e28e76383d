"""The class that an object has if it names none: of storage, and of ingresses."""

from __future__ import annotations

from pilotage.server.plugins.plugin import PluginContext


async def default_class(context: PluginContext, collection: str, *annotations: str) -> str:
    """The name of the default class, the newest if there are several; empty if there is none."""
    found = [
        one["metadata"]
        for one in await context.list(collection)
        if any((one["metadata"].get("annotations") or {}).get(annotation) == "true" for annotation in annotations)
    ]
    newest = max((one.get("creationTimestamp", "") for one in found), default="")
    return min((one["name"] for one in found if one.get("creationTimestamp", "") == newest), default="")
