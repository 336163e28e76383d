"""Metrics that only clients with a token and the right to the path may read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pilotage as pt
from pilotage.http import tls
from pilotage.http.client import HTTPClient
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.manager.reviews import ReviewFilter
from pilotage.types.authentication.v1 import TokenRequest, TokenRequestSpec, TokenReview, TokenReviewStatus, UserInfo
from pilotage.types.authorization.v1 import NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewStatus
from pilotage.types.core.v1 import ServiceAccount
from pilotage.types.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject

from ..authorization import wait_decided
from ..environments import Environment


async def hello(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, (), b"hello")


class Reviews:
    """An API server that knows one token, and one user who may read `/metrics`."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked: list[str] = []

    async def create(self, review: Any) -> Any:
        self.asked.append(type(review).__name__)
        if self.failures:
            raise self.failures.pop(0)
        if isinstance(review, TokenReview):
            known = {"good": "ada", "other": "eve"}.get(review.spec.token or "")
            user = UserInfo(username=known, groups=["system:authenticated"]) if known else None
            review.status = TokenReviewStatus(authenticated=user is not None, user=user)
        else:
            assert isinstance(review, SubjectAccessReview)
            wanted = review.spec.non_resource_attributes
            assert wanted is not None
            allowed = (review.spec.user, wanted.path, wanted.verb) == ("ada", "/metrics", "get")
            review.status = SubjectAccessReviewStatus(allowed=allowed)
        return review


async def status(served: ReviewFilter, token: str = "", target: str = "/metrics", method: str = "GET") -> int:
    headers = [("authorization", f"Bearer {token}")] if token else []
    answer = await served(HTTPRequest(method, target, Headers(headers)))
    return answer.status


@pytest.mark.covers("T186")
@pytest.mark.virtual_time
async def test_no_token_a_wrong_token_no_right_and_the_right() -> None:
    served = ReviewFilter(Reviews(), hello)  # type: ignore[arg-type]
    assert await status(served) == 401
    assert await status(served, "wrong") == 401
    assert await status(served, "other") == 403
    assert await status(served, "good") == 200
    assert await status(served, "good", "/other") == 403
    assert await status(served, "good", method="POST") == 403
    assert await status(served, "good", "/metrics?name=a") == 200
    assert await status(served, "x" * 20_000) == 401


@pytest.mark.covers("T186")
@pytest.mark.virtual_time
async def test_answers_are_used_again_for_a_while() -> None:
    server = Reviews()
    served = ReviewFilter(server, hello)  # type: ignore[arg-type]
    for _ in range(3):
        await status(served, "good")
    assert server.asked == ["TokenReview", "SubjectAccessReview"]
    await asyncio.sleep(61)
    await status(served, "good")
    assert server.asked[2:] == ["TokenReview"]
    await asyncio.sleep(300)
    await status(served, "good")
    assert server.asked[3:] == ["TokenReview", "SubjectAccessReview"]


@pytest.mark.covers("T186")
@pytest.mark.virtual_time
async def test_a_refusal_is_used_again_for_half_a_minute_only() -> None:
    server = Reviews()
    served = ReviewFilter(server, hello)  # type: ignore[arg-type]
    await status(served, "other")
    await asyncio.sleep(31)
    await status(served, "other")
    assert server.asked == ["TokenReview", "SubjectAccessReview", "SubjectAccessReview"]


@pytest.mark.covers("T186")
@pytest.mark.virtual_time
async def test_an_api_server_that_fails_for_a_moment_is_asked_again() -> None:
    server = Reviews(pt.ServiceUnavailable("starting"), pt.errors.ConnectionLost("reset"))
    assert await status(ReviewFilter(server, hello), "good") == 200  # type: ignore[arg-type]
    assert server.asked == ["TokenReview"] * 3 + ["SubjectAccessReview"]


@pytest.mark.covers("T186")
@pytest.mark.virtual_time
async def test_an_api_server_that_cannot_be_asked_is_500() -> None:
    broken = Reviews(*[pt.ServiceUnavailable("down")] * 5)
    assert await status(ReviewFilter(broken, hello), "good") == 500  # type: ignore[arg-type]
    forbidden = Reviews(pt.Forbidden("this program may not create tokenreviews"))
    assert await status(ReviewFilter(forbidden, hello), "good") == 500  # type: ignore[arg-type]
    assert forbidden.asked == ["TokenReview"]


async def _token(environment: Environment, name: str) -> str:
    account = await environment.client.create(
        ServiceAccount(metadata=pt.ObjectMeta(name=name, namespace=environment.namespace))
    )
    wanted = TokenRequest(spec=TokenRequestSpec(audiences=[], expiration_seconds=600))
    await environment.client.subresource("token", TokenRequest).create(account, wanted)
    assert wanted.status is not None
    return wanted.status.token or ""


@pytest.mark.covers("T186")
async def test_a_service_account_with_the_role_reads_metrics_over_https(environment: Environment) -> None:
    name = f"metrics-reader-{environment.namespace}"
    rules = [PolicyRule(non_resource_urls=["/metrics"], verbs=["get"])]
    await environment.client.create(ClusterRole(metadata=pt.ObjectMeta(name=name), rules=rules))
    binding = ClusterRoleBinding(
        metadata=pt.ObjectMeta(name=name),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name),
        subjects=[Subject(kind="ServiceAccount", name="prometheus", namespace=environment.namespace)],
    )
    await environment.client.create(binding)
    reader, stranger = await _token(environment, "prometheus"), await _token(environment, "stranger")
    user = f"system:serviceaccount:{environment.namespace}:prometheus"
    await wait_decided(environment.client, user, NonResourceAttributes(path="/metrics", verb="get"))
    options = pt.ManagerOptions(
        metrics_bind_address="127.0.0.1:0",
        metrics_extra_handlers={"/extra": hello},
        metrics_secure_serving=True,
        metrics_filter=pt.with_authentication_and_authorization,
    )
    async with (
        pt.Manager(environment.cluster(), options) as manager,
        HTTPClient(*manager.metrics_address, ssl=tls.client_context(verify=False)) as client,
    ):

        async def code(target: str, token: str) -> int:
            headers = [("Authorization", f"Bearer {token}")] if token else []
            return (await client.request("GET", target, headers)).status

        assert await code("/metrics", "") == 401
        assert await code("/metrics", "wrong") == 401
        assert await code("/metrics", stranger) == 403
        assert await code("/metrics", reader) == 200
        assert await code("/extra", reader) == 403


def test_certificates_need_secure_serving() -> None:
    with pytest.raises(pt.InvalidDefinition, match="metrics_certificates needs metrics_secure_serving=True"):
        pt.ManagerOptions(metrics_certificates=pt.webhook.CertificateFiles("/certs"))
