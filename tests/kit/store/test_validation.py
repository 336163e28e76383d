"""Archives: what a server has written is valid, and whatever else is in one is named."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotage.kit.store.validation import validated
from pilotage.kubernetes.assembly import cluster_context
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.registry import Registry
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage
from tests.server.registries import DEFINITIONS, WIDGETS, Api, definition, widget
from tests.server.test_damage import BASES, CONFIG_MAPS, KINDS, METADATA, damaged, head, resource


async def test_all_that_a_server_has_written_is_valid() -> None:
    storage = MemoryStorage()
    async with Registry(cluster_context(storage)) as registry:
        api = Api(registry)
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("w"), "default")
        await api.create(
            CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/a"]}, "data": {}}, "default"
        )
        await registry.call(APIRequest(Verb.DELETE, CONFIG_MAPS, "default", "a"))
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await api.create(resource("", "v1", "pods"), pod, "default")
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}}
        await api.create(resource("", "v1", "services"), service, "default")
        await api.create(resource("", "v1", "namespaces"), {"metadata": {"name": "team"}})
        entries = (await storage.list("")).entries
    assert validated([Put(entry.key, entry.value) for entry in entries], None).problems == []


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_whatever_an_archive_has_is_either_valid_or_named(data: st.DataObject) -> None:
    puts = []
    for group, version, kind, plural, namespaced in data.draw(st.lists(st.sampled_from(KINDS), unique=True)):
        namespace = "default" if namespaced else ""
        key = "/".join(filter(None, ("/default", group or "core", plural, namespace, "bad")))
        document = head(f"{group}/{version}".lstrip("/"), kind, "bad", namespace) | BASES.get(plural, {})
        document["metadata"] |= METADATA
        puts.append(Put(key, msgspec.json.encode(data.draw(damaged(document)))))
    found = validated(puts, None)
    named = [problem.partition(": ")[0] for problem in found.problems]
    assert sorted(named + [put.key for put in found.puts]) == sorted(put.key for put in puts)
