"""Cases with webhooks that run on a real kube-apiserver, over TLS, and on ours, in process: the same requests, the same
reviews to the webhooks, the same answers."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from hack.cluster.running import RealCluster
from pilotage.http.messages import Headers, HTTPRequest
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage
from tests.server.differential import Replay, Scenario, Step
from tests.server.replaying import PATIENCE, TOKEN, headers_of, whole_body

from .servers import Behaviour, WebhookServer, allowed, webhook_server

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
URL = "https://127.0.0.1:9443"
"""The URL of the webhooks of ours; no server listens there."""
CONVERSIONS = "/c"
"""The path of conversion webhooks. How often they are called depends on caches, and is not compared."""
_RESOURCES = {
    "MutatingWebhookConfiguration": f"{ADMISSION}/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": f"{ADMISSION}/validatingwebhookconfigurations",
}
_SENTINELS = {"Mutating": "/sentinel-m", "Validating": "/sentinel-v"}
"""Webhooks that are created after all others: once they are called, the others are, too."""
_PROBE = "/api/v1/namespaces/<namespace>/serviceaccounts?dryRun=All"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
Answer = dict[str, Any]
Answers = list[Answer]


@dataclass(frozen=True)
class Case:
    """Steps with webhooks. A mutating one has a path that begins with `/m`, a validating one with `/v`."""

    name: str
    steps: Sequence[Step]
    configurations: Sequence[Document] = ()
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    definitions: Sequence[Document] = ()
    """Definitions whose conversion is that of a path: `{"path": …}` stands for the client configuration."""

    @property
    def scenario(self) -> Scenario:
        return Scenario(f"hooks-{self.name}", self.steps, managed_fields=True)


def configuration(kind: str, name: str, *webhooks: Document) -> Document:
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
    return head | {"metadata": {"name": name}, "webhooks": list(webhooks)}


def webhook(path: str, operations: str = "*", resources: str = "configmaps", **more: Any) -> Document:
    """A webhook for resources of the core group, or of the group before a colon, in the namespace of the case."""
    group, _, names = resources.rpartition(":")
    rule = {
        "operations": operations.split(),
        "apiGroups": [group],
        "apiVersions": more.pop("versions", ["*"]),
        "resources": names.split(),
        "scope": more.pop("rules_scope", "*"),
    }
    return {
        "name": f"{path.strip('/')}.hooks.example.com",
        "clientConfig": {"path": path},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "<namespace>"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    } | more


class _Run:
    """A run on one of the two servers."""

    def __init__(self, case: Case, server: WebhookServer) -> None:
        self.case = case
        self.server = server
        self.replay = Replay(case.scenario)
        self.sentinels: set[str] = set()
        self.versions: dict[str, int] = {}
        """The latest version of each object that was answered, by its uid."""
        server.behaviours.update(case.behaviours)

    def prepared(self, document: Document) -> Document:
        """With the addresses of the webhooks."""
        if isinstance(document, dict):
            path = document.get("path")
            if set(document) == {"path"} and isinstance(path, str):
                return self.server.client_config(path)
            return {key: self.prepared(value) for key, value in document.items()}
        return [self.prepared(item) for item in document] if isinstance(document, list) else document

    def _identity(self, found: tuple[str, Document]) -> tuple[object, ...]:
        """What is the same for all reviews of one delete. How often a delete is admitted depends on the cache of the
        real server: on the states that it begins with, until it has the latest one."""
        path, review = found
        uid, version = _old_version(review)
        if review["request"].get("operation") == "DELETE":
            return path, uid
        return path, uid, version, review["request"]["uid"]

    def _note_version(self, body: bytes) -> None:
        with suppress(ValueError, AttributeError):
            metadata = json.loads(body).get("metadata") or {}
            self.versions[metadata.get("uid") or ""] = int(metadata.get("resourceVersion") or 0)

    def _is_outdated(self, found: tuple[str, Document]) -> bool:
        """Whether a review is about an old state of an object, which the real server reads from its cache at first."""
        uid, version = _old_version(found[1])
        if not version:
            return False
        if found[1]["request"]["operation"] == "UPDATE":
            others = (_old_version(other) for path, other in self.server.reviews if path == found[0])
            if any(one == uid and newer > version for one, newer in others):
                return True
        return version < self.versions.get(uid, 0)

    def answer(self, step: Step, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> dict[str, Any]:
        answer = self.replay.answer(step, status, headers, body)
        self.sentinels |= {path for path, _ in self.server.reviews if path in _SENTINELS.values()}
        kept = {
            self._identity(found): found
            for found in reversed(self.server.reviews)
            if found[0] not in (*self.sentinels, CONVERSIONS) and not self._is_outdated(found)
        }
        reviews = list(reversed(kept.values()))
        self.server.reviews.clear()
        self._note_version(body)
        # Validating webhooks are called at the same time.
        ordered = sorted(reviews, key=lambda found: (found[0].startswith("/v"), found[0] * found[0].startswith("/v")))
        seen = [{"path": path, "review": self.replay._comparable(_without_user(review))} for path, review in ordered]
        return answer | ({"reviews": seen} if seen else {})


def _old_version(review: Document) -> tuple[str, int]:
    """The uid and the version of the old object of a review."""
    metadata = (review["request"].get("oldObject") or {}).get("metadata") or {}
    return metadata.get("uid") or "", int(metadata.get("resourceVersion") or 0)


def _without_user(review: Document) -> Document:
    request = review["request"]
    return review | {"request": {key: value for key, value in request.items() if key != "userInfo"}}


async def run_on_ours(case: Case) -> Answers:
    """The answers of ours; it calls the webhooks in process."""
    server = WebhookServer()
    server.url = URL
    run = _Run(case, server)
    context = replace(
        cluster_context(MemoryStorage(), clock=lambda: _NOW, disable=["ServiceAccount"]),
        controllers=frozenset(),
        contents=None,
    )
    async with Registry(context) as registry:
        for path in _paths(case):
            registry.local_webhooks.add(URL + path, _local(server, path))
        handler = HTTPHandler(registry, TOKEN)

        async def send(step: Step) -> dict[str, Any]:
            headers = {"authorization": f"Bearer {TOKEN}"} | run.replay.headers(step)
            request = HTTPRequest(step.method, run.replay.target(step), Headers(headers.items()), run.replay.body(step))
            response = await handler(request)
            return run.answer(step, response.status, response.headers, await whole_body(response))

        for step in _preparation(run):
            answer = await send(step)
            assert answer["status"] < 300, answer
        return [await send(step) for step in case.steps]


def _local(server: WebhookServer, path: str) -> Any:
    async def handle(review: Document) -> Document:
        server.reviews.append((path, review))
        answer = server.behaviours.get(path, allowed)(review)
        assert isinstance(answer, dict), "others are not compared"
        return answer

    return handle


def _paths(case: Case) -> set[str]:
    found: set[str] = set()

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            if set(value) == {"path"} and isinstance(value["path"], str):
                found.add(value["path"])
            for item in value.values():
                visit(item)
        elif isinstance(value, list):
            for item in value:
                visit(item)

    visit([*case.configurations, *case.definitions])
    return found


def _preparation(run: _Run) -> list[Step]:
    scenario = replace(run.case.scenario, definitions=[run.prepared(one) for one in run.case.definitions])
    steps = [step for step in scenario.all_steps() if step.until is not None]
    for one in run.case.configurations:
        steps.append(Step("configuration", "POST", _RESOURCES[one["kind"]], run.prepared(one), until={"status": 201}))
    return steps


async def run_on_real(case: Case, cluster: RealCluster) -> Answers:
    """The answers of a real server, which calls the webhooks over TLS."""
    address = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context, timeout=40)
    with ExitStack() as exits:
        exits.callback(connection.close)
        async with webhook_server() as server:
            run = _Run(case, server)

            def exchange(step: Step) -> tuple[int, list[tuple[str, str]], bytes]:
                headers = {"authorization": f"Bearer {cluster.token}"} | run.replay.headers(step)
                connection.request(step.method, run.replay.target(step), run.replay.body(step) or None, headers)
                response = connection.getresponse()
                return response.status, headers_of(response), response.read()

            async def send(step: Step) -> dict[str, Any]:
                return run.answer(step, *await asyncio.to_thread(exchange, step))

            async with asyncio.timeout(PATIENCE):
                await _begin(run, send)
            try:
                return [await send(step) for step in case.steps]
            finally:
                for step in _end(case):
                    await send(step)


async def _begin(run: _Run, send: Any) -> None:
    """Create what the case needs, and wait until the server calls webhooks that were created after all others."""
    for step in [*_end(run.case), *_preparation(run)]:
        while True:
            answer = await send(step)
            if not step.until or answer["status"] in (step.until["status"], 409):
                break
            await asyncio.sleep(0.05)
    rules = {"resources": "serviceaccounts", "operations": "CREATE"}
    for kind, path in _SENTINELS.items():
        sentinel = configuration(kind, f"{run.case.name}-sentinel", webhook(path, **rules))
        await send(Step("sentinel", "POST", _RESOURCES[sentinel["kind"]], run.prepared(sentinel), until={}))
    probe = Step("probe", "POST", _PROBE, {"metadata": {"name": "probe"}}, until={})
    while True:
        run.sentinels.clear()
        await send(probe)
        if run.sentinels == set(_SENTINELS.values()):
            return
        await asyncio.sleep(0.05)


def _end(case: Case) -> list[Step]:
    names = [(one["kind"], one["metadata"]["name"]) for one in case.configurations]
    names += [(f"{kind}WebhookConfiguration", f"{case.name}-sentinel") for kind in _SENTINELS]
    return [Step("end", "DELETE", f"{_RESOURCES[kind]}/{name}", until={}) for kind, name in names]


def recorded_text(answers: Answers) -> str:
    return json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
