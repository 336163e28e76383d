"""The names of definitions, when there are many of them, and more than one process writes them."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document
from pilotage.server.context import RegistryContext
from pilotage.server.registry import Registry
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.interface import Delete, Snapshot
from pilotage.storage.memory import MemoryStorage

from .registries import DEFINITIONS, Api, definition


class _Lists(StorageWrapper):
    """Counts the lists of definitions."""

    count = 0

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        self.count += "customresourcedefinitions" in prefix
        return await self._inner.list(prefix, start=start, limit=limit, revision=revision)


def _api(storage: Any) -> Api:
    return Api(Registry(RegistryContext(storage, namespace_lifecycle=False)))


async def _accepted(api: Api, created: Document) -> str:
    """Whether the names of a new definition are accepted."""
    await api.create(DEFINITIONS, created)
    conditions = (await api.get(DEFINITIONS, created["metadata"]["name"]))["status"]["conditions"]
    return str({each["type"]: each["status"] for each in conditions}["NamesAccepted"])


async def test_a_new_definition_is_accepted_without_a_list_of_the_others() -> None:
    storage = _Lists(MemoryStorage())
    api = _api(storage)
    await _accepted(api, definition("first", "First"))
    before = storage.count
    for number in range(3):
        assert await _accepted(api, definition(f"others{number}", f"Other{number}")) == "True"
    assert storage.count == before


async def test_definitions_of_two_groups_may_have_one_name() -> None:
    api = _api(MemoryStorage())
    assert await _accepted(api, definition("widgets", "Widget")) == "True"
    other = definition("widgets", "Widget", group="other.example.com")
    assert await _accepted(api, other | {"metadata": {"name": "widgets.other.example.com"}}) == "True"


async def test_names_that_another_process_has_accepted_are_taken() -> None:
    storage = MemoryStorage()
    one, other = _api(storage), _api(storage)
    assert await _accepted(one, definition("first", "First")) == "True"
    assert await _accepted(other, definition("second", "Same")) == "True"
    assert await _accepted(one, definition("third", "Same")) == "False"


async def test_names_are_free_when_their_definition_is_gone_in_whatever_way() -> None:
    storage = MemoryStorage()
    one = _api(storage)
    assert await _accepted(one, definition("first", "Same")) == "True"
    (entry,) = (await storage.list("/default/apiextensions.k8s.io/customresourcedefinitions/")).entries
    await storage.commit(Delete(entry.key, expected=entry.revision))
    assert await _accepted(one, definition("second", "Same")) == "True"


async def test_names_that_a_status_takes_are_taken_for_other_processes_too() -> None:
    storage = MemoryStorage()
    one, other = _api(storage), _api(storage)
    assert await _accepted(one, definition("first", "First")) == "True"
    assert await _accepted(other, definition("second", "Second")) == "True"
    changed = await one.get(DEFINITIONS, "first.test.example.com")
    changed["spec"]["names"]["shortNames"] = ["f"]
    await one.update(DEFINITIONS, changed)
    third = definition("third", "Third")
    third["spec"]["names"]["shortNames"] = ["f"]
    assert await _accepted(other, third) == "False"
