"""Subresources with bodies of their own, on every API server."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.authentication.v1 import TokenRequest, TokenRequestSpec
from pilotage.types.autoscaling.v1 import Scale, ScaleSpec
from pilotage.types.certificates.v1 import CertificateSigningRequest
from pilotage.types.core.v1 import (
    Binding,
    Container,
    ObjectReference,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ServiceAccount,
)
from pilotage.types.meta.v1 import LabelSelector
from pilotage.types.policy.v1 import Eviction

from ..environments import Environment

KIND = pt.GroupVersionKind("apps", "v1", "Deployment")


async def _deployment(environment: Environment) -> Deployment:
    labels = {"app": "web"}
    template = PodTemplateSpec(
        metadata=pt.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="a", image="a")])
    )
    spec = DeploymentSpec(selector=LabelSelector(match_labels=labels), template=template)
    return await environment.client.create(
        Deployment(metadata=pt.ObjectMeta(name="web", namespace=environment.namespace), spec=spec)
    )


async def _pod(environment: Environment) -> Pod:
    spec = PodSpec(containers=[Container(name="a", image="a")])
    return await environment.client.create(
        Pod(metadata=pt.ObjectMeta(name="pod", namespace=environment.namespace), spec=spec)
    )


@pytest.mark.covers("T132", "T151")
async def test_a_scale_is_read_updated_patched_and_applied(environment: Environment) -> None:
    deployment = await _deployment(environment)
    scales = environment.client.subresource("scale", Scale)
    scale = await scales.get(deployment)
    assert (scale.spec, scale.metadata.name) == (ScaleSpec(replicas=1), "web")
    scale.spec = ScaleSpec(replicas=2)
    await scales.update(deployment, scale)
    assert scale.metadata.resource_version != deployment.metadata.resource_version
    patched = await scales.patch(Deployment, {"spec": {"replicas": 3}}, name="web", namespace=environment.namespace)
    assert patched.spec == ScaleSpec(replicas=3)
    wanted = Scale(metadata=pt.ObjectMeta(name="web", namespace=environment.namespace), spec=ScaleSpec(replicas=4))
    with pytest.raises(pt.errors.BadRequest, match="apply needs a field owner"):
        await scales.apply(deployment, wanted)
    await scales.apply(deployment, wanted, field_owner="scaler", force=True)
    assert wanted.spec == ScaleSpec(replicas=4)
    stored = await environment.client.get(Deployment, "web", namespace=environment.namespace)
    assert stored.spec is not None
    assert stored.spec.replicas == 4


@pytest.mark.covers("T132", "T151")
async def test_a_scale_is_the_same_without_classes(environment: Environment) -> None:
    await _deployment(environment)
    scales = environment.client.subresource("scale")
    scale = await scales.get(KIND, "web", namespace=environment.namespace)
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 1})
    scale["spec"]["replicas"] = 2
    await scales.update(KIND, scale, name="web", namespace=environment.namespace)
    assert (await environment.client.get(KIND, "web", namespace=environment.namespace))["spec"]["replicas"] == 2


@pytest.mark.covers("T151")
async def test_a_scale_that_was_written_since_it_was_read_is_a_conflict(environment: Environment) -> None:
    deployment = await _deployment(environment)
    scales = environment.client.subresource("scale", Scale)
    scale = await scales.get(deployment)
    await scales.patch(deployment, {"spec": {"replicas": 2}})
    with pytest.raises(pt.Conflict):
        await scales.update(deployment, scale)


@pytest.mark.covers("T132", "T137")
async def test_a_dry_run_of_a_subresource_stores_nothing(environment: Environment) -> None:
    deployment = await _deployment(environment)
    changed = (
        await environment.client.dry_run().subresource("scale", Scale).patch(deployment, {"spec": {"replicas": 9}})
    )
    assert changed.spec == ScaleSpec(replicas=9)
    assert (await environment.client.subresource("scale", Scale).get(deployment)).spec == ScaleSpec(replicas=1)


@pytest.mark.covers("T132", "T151")
async def test_a_token_is_requested_for_a_service_account(environment: Environment) -> None:
    account = ServiceAccount(metadata=pt.ObjectMeta(name="robot", namespace=environment.namespace))
    await environment.client.create(account)
    wanted = TokenRequest(spec=TokenRequestSpec(audiences=[], expiration_seconds=600))
    await environment.client.subresource("token", TokenRequest).create(account, wanted)
    assert wanted.status is not None
    assert (wanted.status.token or "").count(".") == 2


@pytest.mark.covers("T132", "T151")
async def test_a_pod_is_bound_and_then_evicted(environment: Environment) -> None:
    pod = await _pod(environment)
    metadata = pt.ObjectMeta(name="pod", namespace=environment.namespace)
    binding = Binding(metadata=metadata, target=ObjectReference(kind="Node", name="node-1"))
    await environment.client.subresource("binding", Binding).create(pod, binding)
    bound = await environment.client.get(Pod, "pod", namespace=environment.namespace)
    assert bound.spec is not None
    assert bound.spec.node_name == "node-1"
    eviction = Eviction(metadata=pt.ObjectMeta(name="pod", namespace=environment.namespace))
    await environment.client.subresource("eviction", Eviction).create(pod, eviction)
    evicted = await environment.client.find(Pod, "pod", namespace=environment.namespace)
    assert evicted is None or evicted.metadata.deletion_timestamp is not None


@pytest.mark.covers("T132")
async def test_a_missing_subresource_and_a_missing_object_are_different_errors(environment: Environment) -> None:
    deployment = await _deployment(environment)
    with pytest.raises(pt.errors.NoMatch, match="Deployment of apps/v1 has no subresource eviction"):
        await environment.client.subresource("eviction").get(deployment)
    with pytest.raises(pt.NotFound):
        await environment.client.subresource("scale").get(Deployment, "missing", namespace=environment.namespace)
    with pytest.raises(pt.errors.BadRequest, match="is not the name of a subresource"):
        environment.client.subresource("a/b")


@pytest.mark.covers("T132")
async def test_an_answer_of_another_kind_than_expected_is_an_error(environment: Environment) -> None:
    deployment = await _deployment(environment)
    with pytest.raises(pt.errors.BadRequest, match="the subresource scale is a Scale, not a CertificateSigningRequest"):
        await environment.client.subresource("scale", CertificateSigningRequest).get(deployment)


@pytest.mark.covers("T139")
async def test_a_client_for_one_namespace_uses_it_for_subresources(environment: Environment) -> None:
    await _deployment(environment)
    client = environment.client.with_namespace(environment.namespace)
    assert (await client.subresource("scale", Scale).get(Deployment, "web")).spec == ScaleSpec(replicas=1)
    with pytest.raises(pt.errors.BadRequest, match="but this client is for"):
        await client.subresource("scale", Scale).get(Deployment, "web", namespace="other")
