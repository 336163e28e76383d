"""Reconciles that run again from their recording: the same bytes, or the first difference, or what is not recorded."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.recording import read
from pilotage.replay import Outcome, Verdict, replay
from pilotage.types.core.v1 import ConfigMap, Secret

from ..recording.programs import Greeting, GreetingReconciler, SecretReconciler, greet, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.rec"


def setup_of(kind: type[GreetingReconciler]) -> Callable[[pt.Manager], None]:
    return lambda manager: kind(manager).setup_with_manager(manager)


def replayed(path: Path, kind: type[GreetingReconciler] = GreetingReconciler, **options: Any) -> list[Outcome]:
    (session,) = read(str(path)).sessions
    return replay(session, setup_of(kind), **options)


def verdicts(outcomes: list[Outcome]) -> dict[Verdict, int]:
    return Counter(outcome.verdict for outcome in outcomes)


def test_times_random_numbers_and_uuids_are_those_of_the_recording(path: Path) -> None:
    live = record(path)
    outcomes = replayed(path)
    assert len(outcomes) == len(live)
    assert verdicts(outcomes) == {Verdict.IDENTICAL: len(live)}


def test_another_version_differs_in_the_fields_that_it_writes(path: Path) -> None:
    class Louder(GreetingReconciler):
        def text(self, greeting: Greeting) -> str:
            return greeting.spec.text.upper() if greeting.metadata.name == "b" else greeting.spec.text

    record(path)
    outcomes = replayed(path, Louder)
    different = [outcome for outcome in outcomes if outcome.verdict is Verdict.DIFFERENT]
    assert {outcome.key for outcome in different} == {"default/b"}
    assert str(different[0]) == (
        f"#{different[0].number} greeting default/b: different: it sends another create configmaps default/b: "
        "data.text: 'hello' → 'HELLO'"
    )


def test_a_version_that_writes_less_or_more_is_named(path: Path) -> None:
    class Silent(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            return pt.Result()

    class Chatty(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            await self.client.delete(Greeting, request)
            return pt.Result()

    record(path)
    assert "different: it no longer sends create configmaps default/a" in str(replayed(path, Silent)[0])
    sent = "delete greetings default/a, which the recorded reconcile did not"
    assert f"different: it sends {sent}" in str(replayed(path, Chatty)[0])


def test_another_result_is_a_difference(path: Path) -> None:
    class Later(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            await super().reconcile(request)
            return pt.Result(requeue_after=5)

    record(path)
    assert "its result is requeue_after=5, and was requeue_after=60" in str(replayed(path, Later)[0])


def test_a_read_that_is_not_recorded_is_named(path: Path) -> None:
    class Curious(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            try:
                await self.client.find(Secret, "other", namespace="default")
            except Exception:  # a reconciler that handles everything cannot hide it
                return pt.Result()
            return await super().reconcile(request)

    record(path)
    (outcome, *_) = replayed(path, Curious)
    assert outcome.verdict is Verdict.LACKING
    assert outcome.text == "it reads Secret default/other, which the recorded reconcile did not"


def test_another_read_has_the_object_as_it_was_last_seen(path: Path) -> None:
    class Curious(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            await self.client.get(Greeting, "a", namespace="default")
            return await super().reconcile(request)

    record(path)
    outcomes = replayed(path, Curious)
    assert verdicts(outcomes) == {Verdict.IDENTICAL: len(outcomes)}
    other = next(outcome for outcome in outcomes if outcome.key == "default/b")
    assert other.text == "the same; it also reads Greeting default/a, as it was last seen"


def test_one_reconcile_can_be_replayed_alone(path: Path) -> None:
    live = record(path)
    seen: list[str] = []
    (outcome,) = replayed(path, numbers={live[3].number}, before=lambda controller: seen.append(controller.name))
    assert (outcome.number, outcome.verdict) == (live[3].number, Verdict.IDENTICAL)
    assert seen == ["greeting"]


_count = 0


class CountingReconciler(GreetingReconciler):
    """Reads what is different each time, through recorded calls."""

    async def reconcile(self, request: pt.Request) -> pt.Result:
        number = await pt.recorded(self.count)("calls")
        at, tags = pt.recorded(now)(), pt.recorded(tagged)(number)
        problem = ""
        try:
            pt.recorded(refuse)(number)
        except LookupError as error:
            problem = str(error)
        meta = pt.ObjectMeta(name=f"{request.name}-{number}", namespace=request.namespace)
        data = {"at": at.isoformat(), "tags": ",".join(sorted(tags)), "problem": problem}
        await self.client.create(ConfigMap(metadata=meta, data=data))
        return pt.Result()

    async def count(self, what: str) -> int:
        global _count
        _count += 1
        return _count


def now() -> datetime:
    return datetime.now(UTC)


def tagged(number: int) -> set[str]:
    return {f"{number}", f"{time.monotonic_ns()}"}


def refuse(number: int) -> None:
    raise LookupError(f"no {number} at {time.monotonic_ns()}")


async def create_one(manager: pt.Manager) -> None:
    await manager.cluster.client.create(Greeting(metadata=pt.ObjectMeta(name="a", namespace="default")))
    await manager.run_until_idle()


def test_recorded_calls_return_what_they_returned(path: Path) -> None:
    live = record(path, setup_of(CountingReconciler), create_one)
    assert any(run.writes for run in live)
    outcomes = replayed(path, CountingReconciler)
    assert [str(one) for one in outcomes if one.verdict is not Verdict.IDENTICAL] == []


def test_a_call_that_is_not_recorded_is_named(path: Path) -> None:
    class Plain(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            return pt.Result()

    record(path, setup_of(Plain), create_one)
    assert "calls tests.replay.test_replay.CountingReconciler.count, whose result is not in the recording" in str(
        replayed(path, CountingReconciler)[0]
    )


def test_recorded_without_a_recording_is_the_call_itself() -> None:
    assert pt.recorded(tagged)(4) & {"4"} == {"4"}


class Sync(pt.Request, frozen=True):
    """A request with a field of its own."""

    text: str = ""


def test_requests_of_the_program_and_seeds_are_replayed(path: Path) -> None:
    class Seeded(GreetingReconciler):
        def setup_with_manager(self, manager: pt.Manager) -> None:
            builder = pt.ControllerBuilder(manager).named("seeded")
            builder.watches(Greeting, lambda event: [Sync(event.name, event.namespace, "hello")]).complete(self)

        async def reconcile(self, request: Any) -> pt.Result:
            random.seed(request.name)
            meta = pt.ObjectMeta(name=f"{request.name}-{random.randint(1, 10**9)}", namespace=request.namespace)
            await self.client.create(ConfigMap(metadata=meta, data={"text": request.text}))
            return pt.Result()

    live = record(path, setup_of(Seeded), create_one)
    assert f"a-{random.Random('a').randint(1, 10**9)}" in str(live[0])
    assert "data.text: 'hello'" in str(live[0])
    outcomes = replayed(path, Seeded)
    assert [str(one) for one in outcomes if one.verdict is not Verdict.IDENTICAL] == []
    assert len(outcomes) == len(live)


def test_a_request_is_of_its_class_though_another_module_has_one_with_this_name(path: Path) -> None:
    class Other(pt.Request, frozen=True):
        """Defined after that of the program, with the same name."""

        count: int = 0

    Other.__qualname__, Other.__module__ = Sync.__qualname__, "elsewhere"
    test_requests_of_the_program_and_seeds_are_replayed(path)


_SPAN_ID = compile("import random; random.getrandbits(64)", "ids", "exec")


def test_ids_of_spans_are_not_random_numbers_of_the_program(path: Path) -> None:
    class Traced(GreetingReconciler):
        is_traced = True

        async def reconcile(self, request: pt.Request) -> pt.Result:
            if self.is_traced:
                exec(_SPAN_ID, {"__name__": "opentelemetry.sdk.trace.id_generator"})
            return await super().reconcile(request)

    live = record(path, setup_of(Traced))
    Traced.is_traced = False  # a replay has no traces
    assert verdicts(replayed(path, Traced)) == {Verdict.IDENTICAL: len(live)}


class RandomReconciler(GreetingReconciler):
    async def reconcile(self, request: pt.Request) -> pt.Result:
        meta = pt.ObjectMeta(name=f"{request.name}-{secrets.token_hex(4)}", namespace=request.namespace)
        await self.client.create(ConfigMap(metadata=meta, data={"more": os.urandom(4).hex()}))
        return pt.Result()


@pytest.mark.parametrize("keeps", [False, True])
def test_secret_random_bytes_are_replayed_if_they_are_kept(path: Path, keeps: bool) -> None:
    record(path, setup_of(RandomReconciler), create_one, record_secrets=keeps)
    outcomes = replayed(path, RandomReconciler)
    expected = Verdict.IDENTICAL if keeps else Verdict.HIDDEN
    assert verdicts(outcomes) == {expected: len(outcomes)}


@pytest.mark.parametrize("keeps", [False, True])
def test_reconciles_that_need_secret_values_are_named(path: Path, keeps: bool) -> None:
    async def act(manager: pt.Manager) -> None:
        client = manager.cluster.client.with_namespace("default")
        await client.create(Secret(metadata=pt.ObjectMeta(name="password"), data={"password": "Y29ycmVjdCBob3JzZQ=="}))
        await create_one(manager)

    class Checking(SecretReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            secret = await self.client.get(Secret, "password", namespace=request.namespace)
            if (secret.data or {})["password"] == "Y29ycmVjdCBob3JzZQ==":
                await super().reconcile(request)
            return pt.Result()

    record(path, setup_of(Checking), act, record_secrets=keeps)
    outcomes = replayed(path, Checking)
    assert set(verdicts(outcomes)) == ({Verdict.IDENTICAL} if keeps else {Verdict.HIDDEN})
    assert keeps or "record with record_secrets=True" in str(outcomes[0])


def test_errors_of_the_server_are_raised_again(path: Path) -> None:
    class Creating(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            meta = pt.ObjectMeta(name="same", namespace=request.namespace)
            try:
                await self.client.create(ConfigMap(metadata=meta))
            except pt.AlreadyExists as error:
                await self.client.patch(ConfigMap, {"data": {"problem": str(error)}}, name="same", namespace="default")
            await self.client.get(ConfigMap, "missing", namespace="default")
            return pt.Result()

    async def act(manager: pt.Manager) -> None:
        for name in ("a", "b"):
            await manager.cluster.client.create(Greeting(metadata=pt.ObjectMeta(name=name, namespace="default")))
        with pytest.raises(pt.PilotageError):
            await manager.run_until_idle(timeout=2)

    live = record(path, setup_of(Creating), act)
    assert {run.result for run in live} >= {"error"}
    assert verdicts(replayed(path, Creating)) == {Verdict.IDENTICAL: len(live)}


def test_reads_that_failed_fail_again(path: Path) -> None:
    class Stale(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            try:
                await self.client.list(Greeting, namespace=request.namespace, fields={"spec.text": "hello"})
            except pt.PilotageError as error:
                meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
                await pt.create_or_patch(self.client, ConfigMap(metadata=meta, data={"error": type(error).__name__}))
            return pt.Result()

    live = record(path, setup_of(Stale), create_one)
    assert any("NoIndex" in str(run) for run in live)
    assert verdicts(replayed(path, Stale)) == {Verdict.IDENTICAL: len(live)}


def test_the_network_is_named(path: Path) -> None:
    class Networked(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            import asyncio

            await asyncio.open_connection("127.0.0.1", 1)
            return pt.Result()

    record(path)
    assert "it uses the network: record the result of the call with pt.recorded(call)" in str(
        replayed(path, Networked)[-1]
    )


def test_a_reconcile_that_waits_for_ever_is_named(path: Path) -> None:
    class Waiting(GreetingReconciler):
        async def reconcile(self, request: pt.Request) -> pt.Result:
            import asyncio

            await asyncio.Event().wait()
            return pt.Result()

    record(path)
    assert "it waits for what the recording does not have" in str(replayed(path, Waiting)[0])


def test_a_program_without_the_controller_is_named(path: Path) -> None:
    record(path)
    (session,) = read(str(path)).sessions
    (outcome, *_) = replay(session, lambda manager: None)
    assert outcome.text == "the program has no controller 'greeting'; it has: none"


def test_reconcilers_that_are_not_async_and_live_reads_and_lists_are_replayed(path: Path) -> None:
    class Sync:
        def __init__(self, manager: pt.Manager) -> None:
            self.client, self.reader = manager.client, manager.api_reader

        def reconcile(self, request: pt.Request) -> None:
            live = pt.wait(self.reader.get(Greeting, request))
            others = pt.wait(self.client.list(Greeting, namespace=request.namespace))
            all_live = pt.wait(self.reader.list(Greeting))
            names = ",".join(each.metadata.name for each in [*others, *all_live])
            pt.wait(self.client.patch(live, {"metadata": {"annotations": {"others": names}}}))

    def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting, predicates=[pt.generation_changed]).complete(Sync(manager))

    live = record(path, setup, greet)
    (session,) = read(str(path)).sessions
    assert verdicts(replay(session, setup)) == {Verdict.IDENTICAL: len(live)}
