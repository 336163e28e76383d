"""A program without a permission reports which RBAC rule is missing, and works as soon as the rule exists."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

import pilotage as pt
from pilotage.client.credentials.credentials import Material, StaticCredentials
from pilotage.cluster.apiserver import RemoteAPIServer
from pilotage.http.client import HTTPClient as HTTPClient
from pilotage.http.health import HealthHandler
from pilotage.http.messages import HTTPRequest
from pilotage.types.authentication.v1 import TokenRequest, TokenRequestSpec
from pilotage.types.core.v1 import ConfigMap, Event, ServiceAccount
from pilotage.types.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject

from ..environments import WITHIN, Environment
from .restricted import grant, restricted

READ = PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list", "watch"])
WRITE = PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["create"])
EVENTS = PolicyRule(api_groups=[""], resources=["events"], verbs=["create"])
READ_RULE = '- {apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}'
NEEDS = "missing permission: system:serviceaccount:shop:operator needs a ClusterRole with the rule"


def config_map(name: str, namespace: str = "default") -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace=namespace))


async def readyz(manager: pt.Manager) -> str:
    answer = await HealthHandler("/readyz", manager._endpoints.readyz_checks)(HTTPRequest("GET", "/readyz?verbose"))
    return answer.body.decode()


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.virtual_time
async def test_a_kind_that_may_not_be_listed_is_in_the_log_and_in_readiness_until_the_rule_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reconciled = asyncio.Event()

    async def reconcile(request: pt.Request) -> None:
        reconciled.set()

    async with restricted() as (cluster, admin), pt.Manager(cluster) as manager:
        await admin.create(config_map("a"))
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        running = asyncio.ensure_future(manager.start())
        await manager.elected.wait()
        await asyncio.sleep(0.1)  # at once: long before a timeout
        assert [line.partition(" kind=")[0] for line in errors(caplog)] == [
            f"Cannot list and watch, retrying: {NEEDS} {READ_RULE}"
        ]
        assert f"[-]permissions failed: {NEEDS} {READ_RULE}\n" in await readyz(manager)
        assert [one.rule for one in manager.missing_permissions] == [READ_RULE]
        await asyncio.sleep(500)  # four times the cache_sync_timeout: a restart would not help
        assert not running.done()
        assert len(errors(caplog)) == 1  # and not one for every attempt
        await grant(admin, "reads", READ)
        await reconciled.wait()
        assert "readyz check passed" in await readyz(manager)
        assert manager.missing_permissions == ()
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_a_kind_that_may_be_listed_but_not_watched_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    async with restricted() as (cluster, admin), pt.Manager(cluster) as manager:
        await grant(admin, "lists", PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list"]))
        running = asyncio.ensure_future(manager.start())
        await manager.elected.wait()
        await manager.cache.informer_for(ConfigMap)
        await asyncio.sleep(1)
        assert READ_RULE in await readyz(manager)
        assert READ_RULE in errors(caplog)[0]
        await grant(admin, "reads", READ)
        await asyncio.sleep(60)
        assert "readyz check passed" in await readyz(manager)
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_a_call_of_a_client_that_is_refused_fails_readiness_until_the_server_grants_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rule = '- {apiGroups: [""], resources: ["configmaps"], verbs: ["create"]}'
    async with restricted() as (cluster, admin), pt.Manager(cluster) as manager:
        running = asyncio.ensure_future(manager.start())
        await manager.ready()
        for name in "ab":
            with pytest.raises(pt.Forbidden):
                await manager.client.create(config_map(name))
        place = "system:serviceaccount:shop:operator needs a Role in the namespace default"
        assert errors(caplog) == [f"Missing permission: {place} with the rule {rule}"]
        assert f"{place} with the rule {rule}\n" in await readyz(manager)
        await grant(admin, "writes", WRITE)
        await asyncio.sleep(10)
        assert "readyz check passed" in await readyz(manager)  # nothing was written: the server was asked
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_a_call_that_succeeds_grants_what_was_missing() -> None:
    async with restricted() as (cluster, admin), pt.Manager(cluster) as manager:
        with pytest.raises(pt.Forbidden):
            await manager.client.create(config_map("a"))
        assert [one.verbs for one in manager.missing_permissions] == [("create",)]
        await grant(admin, "writes", WRITE)
        await manager.client.create(config_map("a"))
        assert manager.missing_permissions == ()


@pytest.mark.virtual_time
async def test_what_another_user_may_not_do_is_not_missing_here() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        with pytest.raises(pt.Forbidden):
            await manager.client.as_user("bob").create(config_map("a"))
        assert manager.missing_permissions == ()


@pytest.mark.virtual_time
async def test_a_program_that_handles_refusals_itself_is_ready() -> None:
    options = pt.ManagerOptions(readiness_needs_permissions=False)
    async with restricted() as (cluster, _), pt.Manager(cluster, options) as manager:
        running = asyncio.ensure_future(manager.start())
        await manager.ready()
        with pytest.raises(pt.Forbidden):
            await manager.client.create(config_map("a"))
        assert "readyz check passed" in await readyz(manager)
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_events_that_may_not_be_written_name_their_rule_once(caplog: pytest.LogCaptureFixture) -> None:
    rule = '- {apiGroups: [""], resources: ["events"], verbs: ["create", "patch"]}'
    async with restricted() as (cluster, admin), pt.Manager(cluster) as manager:
        recorder = manager.event_recorder_for("operator")
        for reason in ("One", "Two", "Three"):
            recorder.event(config_map("a"), "Normal", reason, "text")
        await asyncio.sleep(1)
        lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert len([line for line in lines if rule in line]) == 1
        assert len([line for line in lines if line.startswith("The server refused an event")]) == 1
        assert [one.rule for one in manager.missing_permissions] == [rule]
        await grant(admin, "events", EVENTS)
        recorder.event(config_map("a"), "Normal", "Four", "text")
        await asyncio.sleep(1)
        assert manager.missing_permissions == ()
        assert len(await admin.list(Event, namespace="default")) == 1


@pytest.mark.virtual_time
async def test_refusals_in_many_namespaces_are_not_logged_for_each(caplog: pytest.LogCaptureFixture) -> None:
    async with restricted() as (cluster, _), pt.Manager(cluster) as manager:
        for number in range(300):
            with pytest.raises(pt.Forbidden):
                await manager.client.create(config_map("a", f"team-{number}"))
        assert len(errors(caplog)) == 3
        assert len(manager.missing_permissions) == 256


@pytest.mark.parametrize(
    "environment", [pytest.param("https"), pytest.param("real", marks=pytest.mark.cluster)], indirect=True
)
async def test_the_rule_that_a_service_account_lacks_is_reported_over_http(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    """For its cache, its leases and its writes; it continues when it gets the rules, without a restart."""
    written = asyncio.Event()
    caplog.set_level(logging.INFO, "pilotage")
    options = pt.ManagerOptions(
        cache=pt.CacheOptions(default_namespaces=[environment.namespace]),
        health_probe_bind_address="127.0.0.1:0",
        leader_election=True,
        leader_election_id="operator",
        leader_election_namespace=environment.namespace,
        lease_duration=60,
        renew_deadline=40,
        retry_period=0.2,
        handle_signals=False,
    )
    async with asyncio.timeout(WITHIN), pt.Manager(await _connected(environment), options) as manager:

        async def reconcile(request: pt.Request) -> None:
            if request.name == "a":
                await manager.client.create(config_map("made", environment.namespace))
                written.set()

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await environment.client.create(config_map("a", environment.namespace))
        running = asyncio.ensure_future(manager.start())
        leases = PolicyRule(
            api_groups=["coordination.k8s.io"], resources=["leases"], verbs=["create", "get", "update", "watch"]
        )
        for step, rule in enumerate((leases, READ, WRITE)):
            await _shown_in_readiness(manager, rf"\[-\]permissions failed: .*{re.escape(_rule_text(rule))}")
            await _grant_there(environment, f"rule-{step}", rule)
        await written.wait()
        await _shown_in_readiness(manager, r"\[\+\]permissions ok")
        running.cancel()
        await asyncio.wait([running])
    lines = errors(caplog)
    for rule in (leases, READ, WRITE):
        found = [line for line in lines if _rule_text(rule) in line and "issing permission" in line]
        assert len(found) == 1, lines
        namespace = environment.namespace
        assert f"system:serviceaccount:{namespace}:operator needs a Role in the namespace {namespace}" in found[0]


async def _shown_in_readiness(manager: pt.Manager, pattern: str) -> None:
    async with HTTPClient(*manager.health_probe_address) as probe:
        while True:
            answer = await probe.request("GET", "/readyz?verbose")
            if re.search(pattern, answer.body.decode()):
                return
            await asyncio.sleep(0.05)  # a probe, as a kubelet sends them


def _rule_text(rule: PolicyRule) -> str:
    groups, resources, verbs = (
        ", ".join(f'"{one}"' for one in found) for found in (rule.api_groups, rule.resources, rule.verbs)
    )
    return f"- {{apiGroups: [{groups}], resources: [{resources}], verbs: [{verbs}]}}"


async def _connected(environment: Environment) -> pt.Cluster:
    """A cluster with the token of a service account that has no rights."""
    account = ServiceAccount(metadata=pt.ObjectMeta(name="operator", namespace=environment.namespace))
    account = await environment.client.create(account)
    wanted = TokenRequest(spec=TokenRequestSpec(audiences=[], expiration_seconds=600))
    await environment.client.subresource("token", TokenRequest).create(account, wanted)
    assert wanted.status is not None
    server = environment.cluster()._server
    assert isinstance(server, RemoteAPIServer)
    from dataclasses import replace

    credentials = StaticCredentials(Material(wanted.status.token or ""))
    return pt.Cluster(RemoteAPIServer(replace(server._config, credentials=credentials)))


async def _grant_there(environment: Environment, name: str, rule: PolicyRule) -> None:
    metadata = pt.ObjectMeta(name=name, namespace=environment.namespace)
    await environment.client.create(Role(metadata=metadata, rules=[rule]))
    binding = RoleBinding(
        metadata=pt.ObjectMeta(name=name, namespace=environment.namespace),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
        subjects=[Subject(kind="ServiceAccount", name="operator", namespace=environment.namespace)],
    )
    await environment.client.create(binding)
