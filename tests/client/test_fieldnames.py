"""A document with Python's names is refused before it is sent: the server would drop the fields and report success."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.client import Client, raw_patch
from pilotage.client.outcome import create_or_patch
from pilotage.client.patch import Patch
from pilotage.errors import BadRequest
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.rest import PatchType
from pilotage.types.apps.v1 import Deployment

from ..environments import Environment
from .fakes import Recorder
from .kinds import WIDGET, WIDGETS, Widget, new_widget

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
SERVED = RESTMapping(DEPLOYMENT, GroupVersionResource("apps", "v1", "deployments"), True, subresources=("status",))


class SiteSpec(Model):
    theme_ref: str = ""


class SiteStatus(Model):
    observed_theme: str = ""


@resource(group="tests.pilotage.dev", version="v1", status=True)
class Site(Resource):
    spec: SiteSpec
    status: SiteStatus | None = None


def _site() -> Site:
    return Site(metadata=ObjectMeta(name="a", namespace="default"), spec=SiteSpec())


MERGE = {"spec": {"theme_ref": "dark"}}
OPERATIONS = [{"op": "add", "path": "/spec/theme_ref", "value": "dark"}]


@pytest.mark.parametrize(
    ("patch", "written", "wire"),
    [
        (MERGE, "spec.theme_ref", "spec.themeRef"),
        (raw_patch(PatchType.MERGE, MERGE), "spec.theme_ref", "spec.themeRef"),
        (raw_patch(PatchType.STRATEGIC, MERGE), "spec.theme_ref", "spec.themeRef"),
        (OPERATIONS, "/spec/theme_ref", "/spec/themeRef"),
        (raw_patch(PatchType.JSON, OPERATIONS), "/spec/theme_ref", "/spec/themeRef"),
    ],
)
async def test_no_patch_is_sent_with_a_python_name(patch: Patch | dict[str, Any], written: str, wire: str) -> None:
    transport = Recorder()
    with pytest.raises(BadRequest) as caught:
        await Client(transport).patch(_site(), patch)
    assert str(caught.value) == (
        f'cannot patch Site default/a: documents use the API\'s field names: write "{wire}" instead of '
        f'"{written}"; the server drops a field that it does not know, so nothing was sent'
    )
    assert [cause.field for cause in caught.value.causes] == [written]
    assert (caught.value.kind, caught.value.namespace, caught.value.name) == ("Site", "default", "a")
    assert transport.requests == []


async def test_a_patch_by_name_is_checked_too() -> None:
    with pytest.raises(BadRequest, match=r'cannot patch Site default/a: .*write "spec\.themeRef"'):
        await Client(Recorder()).patch(Site, MERGE, name="a", namespace="default")


async def test_a_status_patch_is_checked_too() -> None:
    with pytest.raises(BadRequest, match=r'write "status\.observedTheme" instead of "status\.observed_theme"'):
        await Client(Recorder()).patch_status(_site(), {"status": {"observed_theme": "dark"}})


async def test_a_patch_as_bytes_is_sent_as_it_is() -> None:
    transport = Recorder(objects.document_of(_site()))
    await Client(transport).patch(_site(), raw_patch(PatchType.MERGE, b'{"spec":{"theme_ref":"dark"}}'))
    assert transport.requests[0].body == b'{"spec":{"theme_ref":"dark"}}'


async def test_a_patch_of_another_kind_through_a_subresource_is_not_checked() -> None:
    transport = Recorder({"kind": "Scale"}, objects.document_of(_site()))
    await Client(transport).patch(_site(), {"spec": {"theme_ref": 1}}, subresource="scale")
    assert transport.requests[0].subresource == "scale"


async def test_a_built_in_kind_without_its_class_is_checked() -> None:
    client = Client(Recorder(served=[SERVED]))
    with pytest.raises(BadRequest, match=r'write "spec\.minReadySeconds" instead of "spec\.min_ready_seconds"'):
        await client.patch(DEPLOYMENT, {"spec": {"min_ready_seconds": 3}}, name="a", namespace="default")
    with pytest.raises(BadRequest, match=r'write "metadata\.ownerReferences" instead of "metadata\.owner_references"'):
        await client.patch(
            metadata_only(DEPLOYMENT), {"metadata": {"owner_references": []}}, name="a", namespace="default"
        )


def _document() -> Unstructured:
    metadata = {"name": "a", "namespace": "default"}
    return Unstructured(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"min_ready_seconds": 3}}
    )


async def test_a_kind_without_its_class_is_checked_by_the_class_in_the_scheme() -> None:
    scheme = Scheme()
    scheme.add_known_types(Site)
    gvk = Site.__resource__.gvk
    served = RESTMapping(gvk, GroupVersionResource(gvk.group, gvk.version, "sites"), True)
    client = Client(Recorder(served=[served]), scheme=scheme)
    with pytest.raises(BadRequest, match=r'write "spec\.themeRef" instead of "spec\.theme_ref"'):
        await client.patch(gvk, MERGE, name="a", namespace="default")


@pytest.mark.parametrize("verb", ["create", "update", "apply"])
async def test_a_document_of_a_built_in_kind_is_checked_by_every_write(verb: str) -> None:
    client = Client(Recorder(served=[SERVED]), field_owner="tests")
    with pytest.raises(BadRequest, match=rf'cannot {verb} Deployment default/a: .*write "spec\.minReadySeconds"'):
        await getattr(client, verb)(_document())


async def test_create_or_patch_refuses_it_whether_the_object_exists_or_not(environment: Environment) -> None:
    metadata = ObjectMeta(name="a", namespace=environment.namespace)
    desired = _document()
    desired.metadata.namespace = environment.namespace
    with pytest.raises(BadRequest, match="cannot create Deployment"):
        await create_or_patch(environment.client, desired)
    await environment.client.create(_deployment(metadata))
    with pytest.raises(BadRequest, match="cannot patch Deployment"):
        await create_or_patch(environment.client, desired)


async def test_a_field_that_the_server_knows_and_the_class_does_not_is_no_warning(environment: Environment) -> None:
    await environment.install(WIDGETS)
    widget = await environment.client.create(new_widget(environment.namespace))
    await environment.client.patch(widget, {"spec": {"note": "not in the class"}})
    assert (await environment.client.get(WIDGET, "one", namespace=environment.namespace))["spec"][
        "note"
    ] == "not in the class"
    assert environment.warnings == []


async def test_a_field_that_the_server_does_not_know_warns_with_kind_object_and_path(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))
    client = Client(environment.transport)  # with the handler that it has by itself
    for _ in range(2):
        await client.patch(Widget, {"spec": {"nonsense": 1}}, name="one", namespace=environment.namespace)
    warned = [record.message for record in caplog.records if record.name == "pilotage.client"]
    assert warned == [f'Widget {environment.namespace}/one: unknown field "spec.nonsense"']


def _deployment(metadata: ObjectMeta) -> Deployment:
    from pilotage.types.apps.v1 import DeploymentSpec
    from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec
    from pilotage.types.meta.v1 import LabelSelector

    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "a"}), spec=PodSpec(containers=[Container(name="a", image="b")])
    )
    spec = DeploymentSpec(selector=LabelSelector(match_labels={"app": "a"}), template=template)
    return Deployment(metadata=metadata, spec=spec)
