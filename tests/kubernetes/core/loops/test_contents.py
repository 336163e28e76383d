"""The default objects of namespaces are created again."""

from __future__ import annotations

from pilotage.errors import RevisionConflict
from pilotage.kubernetes.bootstrap.publication import publish_root_ca
from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.storage.interface import Operation
from pilotage.storage.memory import MemoryStorage

from ....server.registries import CONFIG_MAPS, opened


class Contended(MemoryStorage):
    """Another process is faster at the next `conflicts` commits."""

    conflicts = 0

    async def commit(self, *operations: Operation) -> int:
        if self.conflicts:
            self.conflicts -= 1
            raise RevisionConflict(operations[0].key, 0)
        return await super().commit(*operations)


async def test_many_conflicts_in_a_row_are_no_failure() -> None:
    storage = Contended()
    async with opened(storage, contents=NamespaceContents()) as api:
        storage.conflicts = 2000
        await publish_root_ca(api.registry, "PEM")
        found = await api.get(CONFIG_MAPS, "kube-root-ca.crt", "default")
        assert found["data"] == {"ca.crt": "PEM"}
