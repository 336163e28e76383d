"""Finds out whether an API server calls our webhooks: a remote one notices a new configuration with a delay.

A configuration that only matches a request of ours is created after the others, and requests are sent until the webhook
answers one. An API server reads configurations in the order in which they were written, so all the others are in use by
then. The request is a SelfSubjectAccessReview, which every user may create, and which stores nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count

from pilotage.client.client import Client
from pilotage.errors import ApiError, NotFound, Timeout
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.documents import Document
from pilotage.meta.unstructured import Unstructured
from pilotage.webhook.addresses import WebhookAddress, with_bundle
from pilotage.webhook.admission import CREATE, AdmissionRequest, AdmissionResponse, denied
from pilotage.webhook.declarations import Declaration, RegistrationOptions, WebhookRule
from pilotage.webhook.ownership import FIELD_OWNER
from pilotage.webhook.registration import complete

PATH = "/pilotage-probe"
WAIT_SECONDS = 30.0
_ANSWER = "the webhook server is reached"
_FIRST_DELAY, _LONGEST_DELAY = 0.01, 0.5


async def answer_probe(request: AdmissionRequest) -> AdmissionResponse:
    """The handler at `PATH`: refuses the request with words that the sender recognizes."""
    return denied(_ANSWER)


async def wait_called(client: Client, declaration: Declaration, address: WebhookAddress, bundle: bytes) -> None:
    """Wait until the API server calls what was registered up to now, of the kind of `declaration`.

    Raises Timeout after 30 s, with the reason why the API server cannot call us.
    """
    probe = _probe(declaration)
    document = probe.document(with_bundle(address.client_config(PATH), bundle))
    try:
        await complete(client.apply(Unstructured(document), field_owner=FIELD_OWNER, force=True))
        await _wait_refused(client, probe.name)
    finally:
        with suppress(NotFound):
            await client.delete(probe.kind, probe.name)


async def _wait_refused(client: Client, name: str) -> None:
    problem = "it does not call it"
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            for tries in count():
                try:
                    await client.create(Unstructured(_request(name)))
                except ApiError as error:
                    if _ANSWER in str(error):
                        return
                    problem = str(error)
                await asyncio.sleep(backoff(tries, _FIRST_DELAY, _LONGEST_DELAY))
    except TimeoutError:
        raise Timeout(
            f"the API server does not reach the webhook server after {WAIT_SECONDS:.0f} s: {problem}; check the host "
            "and port that it is registered with (WebhookServerOptions.reachable_host, service), and network policies"
        ) from None


def _probe(declaration: Declaration) -> Declaration:
    path = _path(name := f"probe.{declaration.name}")
    expression = f"has(object.spec.nonResourceAttributes) && object.spec.nonResourceAttributes.path == '{path}'"
    return Declaration(
        name,
        PATH,
        declaration.mutating,
        [WebhookRule(("authorization.k8s.io",), ("v1",), ("selfsubjectaccessreviews",), (CREATE,))],
        RegistrationOptions(timeout_seconds=5, match_conditions=[{"name": "probe", "expression": expression}]),
    )


def _request(name: str) -> Document:
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"nonResourceAttributes": {"path": _path(name), "verb": "get"}},
    }


def _path(name: str) -> str:
    return f"/{name}"
