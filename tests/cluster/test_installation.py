"""Installing kinds: they are served afterwards."""

from __future__ import annotations

from typing import Annotated

import pytest

import pilotage as pt
from pilotage.cluster.installation import DEFINITION, install
from pilotage.errors import AlreadyExists, Conflict, NoMatch, Timeout
from pilotage.rest import APIRequest, Response, TransportWrapper, Verb


class ThingSpec(pt.Model):
    size: int = 1


@pt.resource(group="install.pilotage.dev", version="v1")
class Thing(pt.Resource):
    spec: ThingSpec


class WiderSpec(pt.Model):
    size: int = 1
    colour: str = "red"


@pt.resource(group="install.pilotage.dev", version="v1", kind="Thing")
class WiderThing(pt.Resource):
    spec: WiderSpec


@pt.resource(group="install.pilotage.dev", version="v2", kind="Thing")
class NextThing(pt.Resource):
    spec: WiderSpec


@pytest.mark.covers("T190")
async def test_what_is_installed_is_served_at_once() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        meta = pt.ObjectMeta(name="one", namespace="default")
        assert (await cluster.client.create(Thing(metadata=meta, spec=ThingSpec()))).spec.size == 1


@pytest.mark.covers("T190")
async def test_installing_again_writes_nothing() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        before = await cluster.client.get(DEFINITION, "things.install.pilotage.dev")
        await cluster.install(Thing)
        after = await cluster.client.get(DEFINITION, "things.install.pilotage.dev")
        assert after.metadata.resource_version == before.metadata.resource_version


@pytest.mark.covers("T190")
async def test_installing_a_wider_type_widens_the_schema() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        await cluster.install(WiderThing)
        meta = pt.ObjectMeta(name="one", namespace="default")
        made = await cluster.client.create(WiderThing(metadata=meta, spec=WiderSpec(colour="blue")))
        assert made.spec.colour == "blue"


@pytest.mark.covers("T190")
async def test_a_new_version_serves_the_objects_of_the_old_one() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        meta = pt.ObjectMeta(name="one", namespace="default")
        await cluster.client.create(Thing(metadata=meta, spec=ThingSpec(size=7)))
        await cluster.install(NextThing)
        found = await cluster.client.get(NextThing, "one", namespace="default")
        assert (found.spec.size, found.spec.colour) == (7, "red")


@pytest.mark.covers("T190")
async def test_a_kind_whose_name_is_taken_is_refused_with_the_reason() -> None:
    @pt.resource(group="install.pilotage.dev", version="v1", kind="Thing", plural="thingies")
    class Rival(pt.Resource):
        spec: ThingSpec

    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        with pytest.raises(pt.Conflict, match=r"thingies\.install\.pilotage\.dev cannot be served: .*already in use"):
            await cluster.install(Rival)


class Contended(TransportWrapper):
    """Other clients are faster at all writes."""

    writes = 0

    async def call(self, request: APIRequest) -> Response:
        if request.verb in (Verb.CREATE, Verb.UPDATE):
            self.writes += 1
            raise (AlreadyExists if request.verb is Verb.CREATE else Conflict)("another client was first")
        return await super().call(request)


@pytest.mark.virtual_time
@pytest.mark.parametrize(("first", "second"), [((), Thing), ((Thing,), WiderThing)], ids=["create", "update"])
async def test_after_conflicts_without_end_the_installation_fails(
    first: tuple[type[pt.Resource], ...], second: type[pt.Resource]
) -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(*first)
        contended = Contended(cluster.transport)
        with pytest.raises(Conflict, match="another client was first"):
            await install(pt.Client(contended, scheme=cluster.scheme), [second])
        assert contended.writes == 10


async def test_a_conversion_whose_port_the_server_has_filled_in_is_no_change() -> None:
    service = {"name": "webhook-service", "namespace": "system", "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    conversions = {"things.install.pilotage.dev": {"strategy": "Webhook", "webhook": webhook}}
    async with pt.Cluster.embedded("memory:") as cluster:
        await install(cluster.client, [Thing], conversions)
        contended = Contended(cluster.transport)
        await install(pt.Client(contended, scheme=cluster.scheme), [Thing], conversions)
        assert contended.writes == 0


class Unserved(TransportWrapper):
    """A server that never serves what was installed."""

    async def call(self, request: APIRequest) -> Response:
        if request.resource.resource == "things":
            raise NoMatch("not yet")
        return await self._inner.call(request)


@pytest.mark.virtual_time
async def test_a_kind_that_is_not_served_in_time_is_reported_with_what_to_do() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        with pytest.raises(Timeout, match=r"things\.install\.pilotage\.dev; see their conditions .*, and retry"):
            await install(pt.Client(Unserved(cluster.transport), scheme=cluster.scheme), [Thing])


class BadSpec(pt.Model):
    size: Annotated[int, pt.Minimum(3), pt.Maximum(9)] = 1


@pt.resource(group="install.pilotage.dev", version="v1")
class Bad(pt.Resource):
    spec: BadSpec


async def test_nothing_is_installed_if_one_of_the_types_is_invalid() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        with pytest.raises(pt.InvalidDefinition, match=r"BadSpec\.size"):
            await cluster.install(Thing, Bad)
        assert await cluster.client.find(DEFINITION, "things.install.pilotage.dev") is None


async def test_what_the_server_has_accepted_is_not_validated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Thing)
        monkeypatch.setattr("pilotage.cluster.installation.check_crds", pytest.fail)
        await cluster.install(Thing)


async def test_what_another_writer_has_changed_in_a_definition_is_installed_again() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(WiderThing)
        found = await cluster.client.get(DEFINITION, "things.install.pilotage.dev")
        spec = found.document["spec"]
        del spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["colour"]
        await cluster.client.update(found)
        await cluster.install(WiderThing)
        found = await cluster.client.get(DEFINITION, "things.install.pilotage.dev")
        schema = found.nested("spec", "versions", default=[])[0]["schema"]["openAPIV3Schema"]
        assert set(schema["properties"]["spec"]["properties"]) == {"size", "colour"}
