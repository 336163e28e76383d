from __future__ import annotations

import pytest
from msgspec.structs import replace

from pilotage.errors import Forbidden
from pilotage.rest.request import APIRequest, User, Verb
from pilotage.server.admission import Admission, Attributes, Operation
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from .registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, registry_context, widget

USER = User("alice", ("system:masters",))
BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"b"}}'
CREATE = APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=BODY, user=USER)
UPDATE = APIRequest(Verb.UPDATE, CONFIG_MAPS, namespace="default", name="one", body=BODY, user=USER)
DELETE = APIRequest(Verb.DELETE, CONFIG_MAPS, namespace="default", name="one", user=USER)


async def test_the_chain_sees_each_write_and_who_writes() -> None:
    seen: list[tuple[str, Operation, str, bool, bool]] = []

    async def mutate(attributes: Attributes) -> None:
        new, old = attributes.new, attributes.old
        seen.append(("mutate", attributes.operation, attributes.user.name, new is None, old is None))
        if new is not None:
            new["data"]["by"] = attributes.user.name
            attributes.warnings.append("changed")

    async def validate(attributes: Attributes) -> None:
        new, old = attributes.new, attributes.old
        seen.append(("validate", attributes.operation, attributes.user.name, new is None, old is None))

    registry = Registry(registry_context(MemoryStorage(), admission=Admission((mutate,), (validate,))))
    async with registry:
        created = await registry.call(CREATE)
        assert b'"by":"alice"' in created.body
        assert created.warnings == ("changed",)
        await registry.call(UPDATE)
        await registry.call(DELETE)
    assert seen == [
        (step, operation, "alice", operation is Operation.DELETE, operation is Operation.CREATE)
        for operation in (Operation.CREATE, Operation.UPDATE, Operation.DELETE)
        for step in ("mutate", "validate")
    ]


async def test_a_write_that_is_refused_is_not_stored() -> None:
    async def refuse(attributes: Attributes) -> None:
        raise Forbidden("not today")

    storage = MemoryStorage()
    registry = Registry(registry_context(storage, admission=Admission(validating=(refuse,))))
    async with registry:
        revision = storage.revision
        with pytest.raises(Forbidden):
            await registry.call(CREATE)
        assert storage.revision == revision


@pytest.mark.parametrize("patch", [{"spec": {"size": 2}}, {"metadata": {"labels": {"a": "b"}}}])
async def test_a_function_that_changes_a_patched_custom_resource_does_not_change_the_stored_one(
    patch: dict[str, object],
) -> None:
    parts: list[object] = []

    async def mutate(attributes: Attributes) -> None:
        if attributes.operation is Operation.UPDATE and attributes.resource == WIDGETS:
            assert attributes.new is not None
            assert attributes.old is not None
            attributes.new["spec"]["inner"]["by"] = "admission"
            parts.append(attributes.old["spec"]["inner"])

    async with Registry(registry_context(MemoryStorage(), admission=Admission((mutate,)))) as registry:
        api = Api(registry)
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one", spec={"inner": {"a": 1}}), "default")
        patched = await api.patch(WIDGETS, "one", patch, "default")
        assert patched["spec"]["inner"] == {"a": 1, "by": "admission"}
        assert await api.get(WIDGETS, "one", "default") == patched
    assert parts == [{"a": 1}]


async def test_a_function_that_changes_managed_fields_changes_those_of_its_object_alone() -> None:
    async def drop(attributes: Attributes) -> None:
        if attributes.name == "one" and attributes.new is not None:
            attributes.new["metadata"]["managedFields"][0]["fieldsV1"].pop("f:data")

    registry = Registry(registry_context(MemoryStorage(), admission=Admission(mutating=(drop,))))
    async with registry:
        assert b'"f:data"' not in (await registry.call(CREATE)).body
        other = replace(CREATE, body=BODY.replace(b"one", b"two"))
        assert b'"f:data"' in (await registry.call(other)).body


async def test_a_quota_that_is_created_during_mutating_admission_counts() -> None:
    quota = b'{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"configmaps":"0"}}}'

    async def wait(attributes: Attributes) -> None:
        if attributes.name == "two":
            await registry.call(replace(CREATE, resource=CONFIG_MAPS._replace(resource="resourcequotas"), body=quota))

    context = registry_context(
        MemoryStorage(), plugins=frozenset({"ResourceQuota"}), admission=Admission(mutating=(wait,))
    )
    async with Registry(context) as registry:
        await registry.call(CREATE)  # from now on it is known that there are no quotas
        with pytest.raises(Forbidden, match="exceeded quota: q"):
            await registry.call(replace(CREATE, body=BODY.replace(b"one", b"two")))
