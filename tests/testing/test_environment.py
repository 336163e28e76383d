"""The environment of a test, used as users use it: by its fixtures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import pilotage as pt
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.history import HistoryOptions
from pilotage.meta.kinds import GroupVersionKind
from pilotage.testing import Environment
from pilotage.testing.calls import Write, Writes
from pilotage.testing.loop import BEGINNING
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap, Event, Secret


class CopySpec(pt.Model):
    data: dict[str, str] = {}


class CopyStatus(pt.Model):
    copied: int = 0


@pt.resource(group="testing.pilotage.dev", version="v1", status=True)
class Copy(pt.Resource):
    spec: CopySpec
    status: CopyStatus | None = None


class CopyReconciler:
    """Copies data to a ConfigMap, and counts how often."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.reconciled: list[str] = []

    async def reconcile(self, request: pt.Request) -> pt.Result:
        copy = await self.client.get(Copy, request)
        self.reconciled.append(request.name)
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        await pt.create_or_patch(self.client, ConfigMap(metadata=meta, data=copy.spec.data), owner=copy)
        copied = copy.status.copied if copy.status else 0
        if not copied:
            await self.client.patch_status(copy, {"status": {"copied": copied + 1}})
        return pt.Result(requeue_after=600)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Copy).owns(ConfigMap).complete(self)


def copy(name: str = "one", **data: str) -> Copy:
    return Copy(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=CopySpec(data=data))


def reconciler(env: Environment) -> CopyReconciler:
    made = CopyReconciler(env.manager)
    made.setup_with_manager(env.manager)
    return made


async def test_the_parts_are_fixtures_too(
    pilotage_env: Environment, pilotage_cluster: pt.Cluster, pilotage_manager: pt.Manager, pilotage_client: pt.Client
) -> None:
    parts = (pilotage_cluster, pilotage_manager, pilotage_client)
    assert parts == (pilotage_env.cluster, pilotage_env.manager, pilotage_env.client)


class TestFixtures:
    @pytest.fixture
    async def opened(self, pilotage_env: Environment) -> AsyncIterator[list[str]]:
        self.seen = ["opened"]
        async with asyncio.timeout(5):  # a block that must be left by the task that has entered it
            yield self.seen
        await pilotage_env.client.list(ConfigMap)

    async def test_an_async_fixture_may_be_a_method_with_yield(self, opened: list[str]) -> None:
        assert opened is self.seen


async def test_time_is_shared_by_server_manager_and_test(pilotage_env: Environment) -> None:
    await asyncio.sleep(3 * 3600)
    made = await pilotage_env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="late", namespace="default")))
    assert made.metadata.creation_timestamp is not None
    assert (made.metadata.creation_timestamp - BEGINNING).total_seconds() == 3 * 3600
    assert (pilotage_env.manager.clock() - BEGINNING).total_seconds() == 3 * 3600
    assert pilotage_env.clock() == pilotage_env.manager.clock()


async def test_given_objects_have_their_kinds_namespaces_and_status(pilotage_env: Environment) -> None:
    env, given = pilotage_env, copy()
    given.metadata.namespace, given.status = "elsewhere", CopyStatus(copied=7)
    await env.given(given, Secret(metadata=pt.ObjectMeta(name="key", namespace="elsewhere"), data={}))
    found = await env.client.get(Copy, "one", namespace="elsewhere")
    assert found.status == CopyStatus(copied=7) == given.status


async def test_one_reconcile_is_called_directly_and_its_writes_are_these(pilotage_env: Environment) -> None:
    env, given = pilotage_env, copy(a="1")
    await env.given(given)
    with env.writes() as writes:
        result = await env.reconcile(CopyReconciler(env.manager), "one", namespace="default")
    assert result == pt.Result(requeue_after=600)
    writes.assert_only(
        "create v1 ConfigMap default/one",
        "patch testing.pilotage.dev/v1 Copy default/one status",
    )
    assert writes[0].object["data"] == {"a": "1"}
    with env.writes() as writes:
        await env.reconcile(CopyReconciler(env.manager), given)
    writes.assert_only()


async def test_a_restart_is_a_second_manager_whose_writes_are_recorded_too(pilotage_env: Environment) -> None:
    env = pilotage_env
    with env.writes() as writes:
        await env.given(copy(a="1"))  # the test's own, the CRD included
    writes.assert_only()
    reconciler(env)
    async with env.running():
        await env.eventually(lambda: env.client.find(ConfigMap, "one", namespace="default"))
    await env.client.delete(ConfigMap, "one", namespace="default")
    with env.writes() as writes:
        async with pt.Manager(env.cluster, pt.ManagerOptions(handle_signals=False)) as second:
            CopyReconciler(second).setup_with_manager(second)
            await second.run_until_idle(timeout=60)
    writes.assert_only("create v1 ConfigMap default/one")


class CopyDefaulter:
    async def default(self, obj: Copy) -> None:
        obj.spec.data.setdefault("added", "by the webhook")


async def test_webhooks_of_the_program_are_called_while_the_manager_runs(pilotage_env: Environment) -> None:
    await pilotage_env.cluster.install(Copy)
    pt.WebhookBuilder(pilotage_env.manager).for_(Copy).with_defaulter(CopyDefaulter()).complete()
    async with pilotage_env.running():
        made = await pilotage_env.client.create(copy())
    assert made.spec.data == {"added": "by the webhook"}


async def test_other_writes_than_expected_are_shown_as_a_difference(pilotage_env: Environment) -> None:
    env = pilotage_env
    await env.given(copy())
    with env.writes() as writes:
        await env.reconcile(CopyReconciler(env.manager), "one", namespace="default")
    with pytest.raises(AssertionError) as raised:
        writes.assert_only("create v1 ConfigMap default/one", "create v1 Secret default/one")
    assert str(raised.value).splitlines() == [
        "other writes than expected (- expected, + written):",
        "    create v1 ConfigMap default/one",
        "  - create v1 Secret default/one",
        "  + patch testing.pilotage.dev/v1 Copy default/one status",
        '      {"status":{"copied":1}}',
    ]


@pytest.mark.virtual_time
async def test_the_content_of_a_patch_is_shown_without_secret_values() -> None:
    options = pt.ManagerOptions(history=HistoryOptions(secret_fields=["data.token"]))
    async with Environment(options=options) as env:
        for kind in (ConfigMap, Secret):
            await env.given(kind(metadata=pt.ObjectMeta(name="one", namespace="default")))
        client = env.manager.client.with_namespace("default")
        with env.writes() as writes:
            await client.patch(ConfigMap, {"data": {"token": "swordfish", "text": "shown\x9b"}}, name="one")
            await client.patch(Secret, {"stringData": {"password": "swordfish"}}, name="one")
            await client.patch(ConfigMap, {"data": {"long": "x" * 2000}}, name="one")
        with pytest.raises(AssertionError) as raised:
            writes.assert_only()
    text = str(raised.value)
    assert "swordfish" not in text
    assert '"text":"shown\\u009b"' in text
    assert '{"stringData":{"password":"hash ' in text
    assert max(map(len, text.splitlines())) < 1100


def test_the_content_of_a_json_patch_of_a_secret_is_not_shown() -> None:
    sent = b'[{"op": "add", "path": "/data/x", "value": "swordfish"}]'
    kinds = [GroupVersionKind("", "v1", kind) for kind in ("Secret", "ConfigMap")]
    writes = Writes(Write("patch", kind, "default", "one", sent=sent) for kind in kinds)
    with pytest.raises(AssertionError) as raised:
        writes.assert_only()
    assert str(raised.value).splitlines()[1:] == [
        "  + patch v1 Secret default/one",
        "      (a JSON patch of a Secret)",
        "  + patch v1 ConfigMap default/one",
        '      [{"op":"add","path":"/data/x","value":"swordfish"}]',
    ]


async def test_every_form_of_write_has_its_text(pilotage_env: Environment) -> None:
    env = pilotage_env
    client = env.manager.client
    made = ConfigMap(metadata=pt.ObjectMeta(generate_name="some-", namespace="default"))
    with env.writes() as writes:
        await client.create(made)
        made.data = {"a": "b"}
        await client.update(made)
        await client.update(made, dry_run=True)
        await client.apply(
            ConfigMap(metadata=pt.ObjectMeta(name="applied", namespace="default"), data={}), field_owner="test"
        )
        await client.delete(made)
        await client.delete_all_of(ConfigMap, namespace="default", labels={"a": "b"})
        await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="by-the-test", namespace="default")))
    writes.assert_only(
        f"create v1 ConfigMap default/{made.metadata.name}",
        f"update v1 ConfigMap default/{made.metadata.name}",
        "apply v1 ConfigMap default/applied",
        f"delete v1 ConfigMap default/{made.metadata.name}",
        "delete_all_of v1 ConfigMap default",
    )


async def test_a_reconcile_beside_controllers_is_refused(pilotage_env: Environment) -> None:
    await pilotage_env.cluster.install(Copy)
    with pytest.raises(pt.InvalidDefinition, match=r"controllers of this manager \(copy\) would reconcile at the same"):
        await pilotage_env.reconcile(reconciler(pilotage_env), "one", namespace="default")


async def test_recorded_events_and_leases_are_not_among_the_writes_unless_asked_for(pilotage_env: Environment) -> None:
    env, given = pilotage_env, ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default"))
    await env.client.create(given)
    with env.writes() as writes, env.writes(everything=True) as everything:
        await asyncio.sleep(3600)
        env.manager.event_recorder_for("test").event(given, "Normal", "Copied", "it was copied")
        (event,) = await env.eventually(lambda: env.client.list(Event, namespace="default"))
    assert event.last_timestamp is not None
    assert (event.last_timestamp - BEGINNING).total_seconds() == 3600
    writes.assert_only()
    assert [write.gvk.kind for write in everything] == ["Event"]


@pytest.mark.parametrize("verb", ["create", "get", "list", "patch"])
async def test_any_call_of_the_program_can_fail_as_often_as_asked(pilotage_env: Environment, verb: str) -> None:
    env = pilotage_env
    await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default")))
    fault = env.fail(verb, ConfigMap, pt.ServiceUnavailable("try later"), times=2)
    async with env.running() as manager:
        for _ in range(2):
            with pytest.raises(pt.ServiceUnavailable, match="try later"):
                await _call(manager.client, verb)
        await _call(manager.client, verb)
    await _call(env.client, verb)
    assert fault.count == 2


async def _call(client: pt.Client, verb: str) -> None:
    match verb:
        case "create":
            await client.create(ConfigMap(metadata=pt.ObjectMeta(generate_name="some-", namespace="default")))
        case "get":
            await client.get(ConfigMap, "one", namespace="default")
        case "list":
            await client.list(ConfigMap, namespace="default")
        case _:
            one = await client.get(ConfigMap, "one", namespace="default")
            await client.patch(one, {"data": {"a": "b"}})


async def test_a_fault_can_be_for_one_object_and_one_subresource(pilotage_env: Environment) -> None:
    env, first, second = pilotage_env, copy("first"), copy("second")
    await env.given(first, second)
    env.fail("patch", Copy, pt.Conflict("no"), name="first", subresource="status", times=None)
    client = env.manager.client
    await client.patch(first, {"metadata": {"labels": {"a": "b"}}})
    await client.patch_status(second, {"status": {"copied": 1}})
    for _ in range(3):
        with pytest.raises(pt.Conflict):
            await client.patch_status(first, {"status": {"copied": 1}})


async def test_a_verb_that_does_not_exist_is_refused(pilotage_env: Environment) -> None:
    with pytest.raises(pt.InvalidDefinition, match="'put' is not a call of a client; there are: get, list"):
        pilotage_env.fail("put", ConfigMap, pt.Conflict("no"))


async def test_an_informer_survives_watches_that_fail(pilotage_env: Environment) -> None:
    env = pilotage_env
    await env.cluster.install(Copy)
    fault = env.fail("watch", Copy, pt.ServiceUnavailable("try later"), times=3)
    reconciled = reconciler(env).reconciled
    async with env.running():
        await env.eventually(lambda: fault.count, equals=3)
        await env.client.create(copy())
        await env.eventually(lambda: reconciled)


async def test_waiting_is_over_with_the_write_that_is_waited_for(pilotage_env: Environment) -> None:
    env = pilotage_env
    loop = asyncio.get_running_loop()

    async def write_later() -> None:
        await asyncio.sleep(3.3333)
        await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default")))

    async with asyncio.TaskGroup() as group:
        group.create_task(write_later())
        found = await env.eventually(lambda: env.client.get(ConfigMap, "one", namespace="default"))
    assert loop.time() == pytest.approx(3.3333)
    assert found.metadata.name == "one"


async def test_a_value_that_does_not_come_is_shown_with_the_condition(pilotage_env: Environment) -> None:
    env = pilotage_env
    with pytest.raises(AssertionError) as raised:
        await env.eventually(lambda: sorted([2, 1]), equals=[1, 2, 3], timeout=5)
    assert str(raised.value) == (
        "timed out after 5 s waiting until `sorted([2, 1])` equals [1, 2, 3]; last value: [1, 2]\n"
        "The manager does not run: use `async with env.running():` or `await env.run_until_idle()`"
    )
    with pytest.raises(AssertionError, match='last value: NotFound: configmaps "none" not found'):
        await env.eventually(lambda: env.client.get(ConfigMap, "none", namespace="default"))


async def test_an_object_that_is_not_as_expected_is_shown_as_yaml_and_each_lambda_by_its_own_text(
    pilotage_env: Environment,
) -> None:
    env = pilotage_env
    await env.given(copy(a="1"))
    with pytest.raises(AssertionError) as raised:
        await env.eventually(
            lambda: env.client.get(Copy, "one", namespace="default"), satisfies=lambda c: c.spec is None
        )
    shown = str(raised.value)
    assert 'waiting until `env.client.get(Copy, "one", namespace="default")` satisfies `c.spec is None`;' in shown
    assert "last value: Copy\n  apiVersion: testing.pilotage.dev/v1\n  kind: Copy\n" in shown
    assert "  spec:\n    data:\n      a: '1'\nThe manager does not run" in shown
    assert "managedFields" not in shown


NOT_SERVED = "the server does not serve Copy of testing.pilotage.dev/v1: install its CustomResourceDefinition first"


async def test_a_kind_that_is_not_installed_is_the_reason_of_the_failure(pilotage_env: Environment) -> None:
    reconciler(pilotage_env)
    with pytest.raises(pt.controller.CacheSyncTimeout) as raised:
        await pilotage_env.run_until_idle()
    assert f"waiting for kind source: *v1.Copy to sync: {NOT_SERVED} (await cluster.install(" in str(raised.value)


async def test_the_set_up_of_an_agent_finds_the_gpus_of_the_test(pilotage_env: Environment) -> None:
    env, seen = pilotage_env, list[str]()

    async def reconcile(request: pt.Request) -> None:
        seen.append((await env.manager.client.get(GPU, request)).spec.uuid)

    env.manager.add_device_api("unix:///nothing/device-api.sock")
    pt.ControllerBuilder(env.manager).for_(GPU).complete(reconcile)
    await env.given(GPU(metadata=pt.ObjectMeta(name="gpu-1"), spec=GPUSpec(uuid="GPU-1")))
    await env.run_until_idle()
    assert seen == ["GPU-1"]


async def test_a_reconcile_that_does_not_end_is_reported_once_with_its_place(pilotage_env: Environment) -> None:
    async def reconcile(request: pt.Request) -> None:
        await asyncio.Event().wait()

    await pilotage_env.given(copy())
    pt.ControllerBuilder(pilotage_env.manager).for_(Copy).complete(reconcile)
    with pytest.raises(pt.NotIdle) as raised:  # and the end of the fixture is not a second error
        await pilotage_env.run_until_idle()
    assert "controller.reconcile copy default/one has been running for 600.0 s, at " in str(raised.value)
    line = reconcile.__code__.co_firstlineno + 1
    assert str(raised.value).endswith(f"{__file__}:{line} in {reconcile.__qualname__}")


async def test_what_a_running_manager_waits_for_is_in_the_failure_of_a_wait(pilotage_env: Environment) -> None:
    reconciler(pilotage_env)
    async with pilotage_env.running():
        with pytest.raises(AssertionError) as raised:
            await pilotage_env.eventually(lambda: False, timeout=5)
    assert f"\ncontroller copy: it has not started: it waits for kind source: *v1.Copy ({NOT_SERVED}" in str(
        raised.value
    )


async def test_an_unexpected_error_of_a_probe_is_raised_at_once(pilotage_env: Environment) -> None:
    with pytest.raises(ZeroDivisionError):
        await pilotage_env.eventually(lambda: 1 // 0)
    assert asyncio.get_running_loop().time() < 1


async def test_what_must_hold_for_a_while_is_checked_with_every_write(pilotage_env: Environment) -> None:
    env = pilotage_env
    await env.consistently(lambda: env.client.find(ConfigMap, "one", namespace="default"), is_=None, seconds=100)
    assert asyncio.get_running_loop().time() == pytest.approx(100)

    async def write_and_delete() -> None:
        await asyncio.sleep(0.25)
        made = await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default")))
        await asyncio.sleep(0.25)
        await env.client.delete(made)

    task = asyncio.get_running_loop().create_task(write_and_delete())
    with pytest.raises(AssertionError, match=r"expected that .* is None, but after 0\.25 s it was: ConfigMap"):
        await env.consistently(lambda: env.client.find(ConfigMap, "one", namespace="default"), is_=None)
    await task


async def test_idling_in_vain_ends_with_the_error_of_the_reconciler(pilotage_env: Environment) -> None:
    env = pilotage_env
    await env.cluster.install(Copy)
    reconciler(env)
    env.fail("create", ConfigMap, pt.Forbidden("not this one"), times=None)
    await env.client.create(copy())
    with pytest.raises(pt.NotIdle, match="not this one") as raised:
        await env.run_until_idle()
    assert isinstance(raised.value.__cause__, pt.Forbidden)
    assert {failure.request for failure in env.failures} == {"default/one"}
    report = env.report()
    assert "reconciles raised an error" in report
    assert "in reconcile" in report
    assert report.count("Traceback") == 1


async def test_a_callback_of_the_program_for_failures_is_called_in_a_test_too() -> None:
    failures: list[pt.manager.ReconcileFailure] = []
    async with Environment(options=pt.ManagerOptions(on_reconcile_failure=failures.append)) as env:
        await env.cluster.install(Copy)
        reconciler(env)
        env.fail("create", ConfigMap, pt.ServiceUnavailable("try later"))
        await env.client.create(copy())
        await env.run_until_idle()
        assert [str(failure.error) for failure in failures] == ["try later"]
        assert env.failures == tuple(failures)


async def test_the_traceback_of_an_error_that_repeats_is_logged_once(
    pilotage_env: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    env = pilotage_env
    await env.cluster.install(Copy)
    reconciler(env)
    env.fail("create", ConfigMap, pt.ServiceUnavailable("try later"), times=3)
    await env.client.create(copy())
    await env.run_until_idle()
    records = [
        record for record in caplog.records if (record.name, record.levelname) == ("pilotage.controller", "ERROR")
    ]
    assert [record.exc_info is not None for record in records] == [True, False, False]


async def test_a_reconciler_that_is_not_async_is_tested_in_the_same_way(pilotage_env: Environment) -> None:
    env = pilotage_env

    def reconcile(request: pt.Request) -> pt.Result:
        found = pt.wait(env.manager.client.get(ConfigMap, request))
        if "hour" not in found.data:
            pt.wait(env.manager.client.patch(found, {"data": {"hour": str(env.manager.clock().hour)}}))
        return pt.Result()

    pt.ControllerBuilder(env.manager).for_(ConfigMap).complete(reconcile)
    await asyncio.sleep(5 * 3600)
    await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default")))
    await env.run_until_idle()
    assert (await env.client.get(ConfigMap, "one", namespace="default")).data == {"hour": "5"}


async def test_the_error_of_a_runnable_is_raised_where_the_manager_ran(pilotage_env: Environment) -> None:
    async def fail() -> None:
        raise RuntimeError("broken")

    pilotage_env.manager.add(fail)
    with pytest.raises(RuntimeError, match="broken"):
        async with pilotage_env.running():
            await asyncio.sleep(1)


class TestLeaderElection:
    @pytest.fixture
    def pilotage_manager_options(self) -> pt.ManagerOptions:
        return pt.ManagerOptions(leader_election=True, leader_election_id="test", leader_election_namespace="default")

    async def test_options_of_the_manager_are_a_fixture(self, pilotage_env: Environment) -> None:
        async with pilotage_env.running() as manager:
            await manager.elected.wait()
            await asyncio.sleep(60)
            lease = await pilotage_env.client.get(Lease, "test", namespace="default")
        assert lease.spec is not None
        assert lease.spec.renew_time is not None
        assert (pilotage_env.clock() - lease.spec.renew_time).total_seconds() < 3


async def test_an_environment_needs_no_pytest() -> None:
    async with Environment() as env:
        await env.given(copy(a="1"))
        reconciler(env)
        await env.run_until_idle(timeout=10)
        assert (await env.client.get(ConfigMap, "one", namespace="default")).data == {"a": "1"}


async def test_idleness_after_a_running_block_is_refused_with_what_to_do() -> None:
    async with Environment() as environment:
        async with environment.running():
            pass
        with pytest.raises(pt.manager.ManagerStopped) as caught:
            await environment.run_until_idle()
    assert str(caught.value) == (
        "the manager of this environment has stopped, as it does at the end of a running() block: call run_until_idle "
        "inside of the block, or use another environment"
    )


async def test_a_second_running_block_is_refused_with_what_to_do() -> None:
    async with Environment() as environment:
        async with environment.running():
            pass
        with pytest.raises(
            pt.manager.ManagerStopped, match=r"block: put both blocks into one, or use another environment$"
        ):
            async with environment.running():
                raise AssertionError("the manager runs again")


async def test_running_calls_a_setup_function_once_before_it_starts(pilotage_env: Environment) -> None:
    called: list[object] = []

    async def setup(manager: pt.Manager) -> None:
        called.append(manager)

    async with pilotage_env.running(setup) as manager:
        await pilotage_env.run_until_idle()
    assert called == [manager]
