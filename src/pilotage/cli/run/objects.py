"""The objects of `-f FILE`: read before the program starts, applied once its webhooks and caches run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pilotage.client.client import Client
from pilotage.kit.applying import ObjectApplier
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.meta.text.counts import counted
from pilotage.telemetry.logs import logger

log = logger("pilotage.run")

FIELD_OWNER = "pilotage-run"


def watched_files(paths: Sequence[Path]) -> list[Path]:
    """The files and folders of `-f`, and the files in the folders."""
    return [file for path in paths for file in (path, *(path.iterdir() if path.is_dir() else ()))]


class AppliedObjects:
    """A runnable that applies the objects and ends. It starts after webhooks and caches, so that webhooks see them."""

    name = "objects of -f"
    needs_leader_election = False

    def __init__(self, client: Client, manifests: Sequence[Manifest], namespace: str) -> None:
        self._applier = ObjectApplier(client, manifests, field_owner=FIELD_OWNER, namespace=namespace, warn=log.warning)
        self._left = len(self._applier.ordered)

    def idle(self, horizon: float) -> bool:
        return self._left == 0

    def busy(self, horizon: float) -> Sequence[str]:
        return [f"not applied yet: {counted(self._left, 'object')} of -f"] if self._left else []

    async def start(self) -> None:
        for manifest in self._applier.ordered:
            await self._applier.apply(manifest)
            metadata = manifest.document["metadata"]
            log.info(
                f"Applied {manifest.document['kind']}", namespace=metadata.get("namespace", ""), name=metadata["name"]
            )
            self._left -= 1
