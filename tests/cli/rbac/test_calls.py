"""Which calls are found in the source of a program, and which kinds they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.cli.program.target import companions, load_target
from pilotage.cli.rbac.calls import APICalls, find_calls
from pilotage.cli.rbac.program import ProgramSource

from ..programs import program, reconciling

pytestmark = pytest.mark.usefixtures("own_imports")


def found(folder: Path, body: str, more: str = "") -> APICalls:
    target = load_target(program(folder, reconciling(body, more)))
    source = ProgramSource([*companions(target.module), target.module])
    return find_calls(source, source.reached(target.parts))


def needed(calls: APICalls) -> list[str]:
    """`verbs Kind/subresource` of each call."""
    return [
        f"{','.join(call.verbs)} {call.text.rpartition('(')[2][:-1]}"
        + (f"/{call.subresource}" if call.subresource else "")
        for call in calls.calls
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("await self.client.get(Secret, request)", ["get,list,watch Secret"]),
        ("await self.client.list(Secret)", ["get,list,watch Secret"]),
        ("await self.reader.get(Secret, request)", ["get Secret"]),
        ("await self.client.api_reader.find(Secret, request)", ["get Secret"]),
        ("await self.reader.list(Secret)", ["list Secret"]),
        ("await self.client.create(Secret())", ["create Secret"]),
        ("await self.client.with_field_owner('me').apply(Secret())", ["create,patch Secret"]),
        ("await self.client.apply(Secret(), subresource='status')", ["patch Secret/status"]),
        ("await self.client.delete_all_of(Pod, namespace='a')", ["deletecollection Pod"]),
        ("await self.client.update_status(Deployment())", ["update Deployment/status"]),
        ("await self.client.patch(Deployment, {}, name='a', subresource='scale')", [
            "patch Deployment/scale", "get Deployment",
        ]),
        ("await self.client.subresource('scale', Scale).update(Deployment, Scale(), name='a')", [
            "update Deployment/scale",
        ]),
        ("await self.client.subresource('eviction').create(Pod(), None)", ["create Pod/eviction"]),
        ("await self.client.get(JOB, request)", ["get,list,watch Job"]),
        ("await self.client.get(pt.metadata_only(Secret), request)", ["get,list,watch Secret"]),
        ("await self.client.create(pt.Unstructured({'apiVersion': 'v1', 'kind': 'Pod'}))", ["create Pod"]),
        ("pt.add_finalizer(Greeting(spec=GreetingSpec()), 'a.b/c')", ["update Greeting/finalizers"]),
        ("await pt.create_or_patch(self.client, Pod(status=None))", [
            "get,list,watch,create,patch Pod", "patch Pod/status",
        ]),
        ("await pt.create_or_update(self.reader, Pod(), print)", ["get,create,update Pod"]),
        ("{}.get('Secret')", []),
    ],
)  # fmt: skip
def test_a_call_needs_its_verbs_on_its_kind(tmp_path: Path, body: str, expected: list[str]) -> None:
    calls = found(tmp_path, body)
    assert (needed(calls), calls.unknown) == (expected, [])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("""
        for pod in await self.reader.list(Pod):
            await self.client.delete(pod)
        """, ["list Pod", "delete Pod"]),
        ("""
        for kind in (Secret, Service):
            await self.reader.get(kind, request)
        """, ["get Secret", "get Service"]),
        ("""
        obj = Secret()
        obj = Service()
        await self.client.create(obj)
        """, ["create Service"]),
        ("""
        if request.name:
            obj = Secret()
        else:
            obj = Service()
        await self.client.create(obj)
        """, ["create Secret", "create Service"]),
        ("""
        if (found := await self.reader.find(Secret, request)) is not None:
            await self.client.delete(found)
        """, ["get Secret", "delete Secret"]),
        ("""
        await self.client.create(made())
        """, ["create Secret"]),
        ("""
        await self.client.create(self.named("a"))
        """, ["create ConfigMap"]),
        ("""
        async def inner(pods: list[Pod]) -> None:
            await asyncio.gather(*(self.client.delete(pod) for pod in pods))
        """, ["delete Pod"]),
        ("""
        try:
            obj = await self.reader.get(Secret, request)
        except pt.NotFound:
            obj = Secret()
        await self.client.update(obj)
        """, ["get Secret", "update Secret"]),
        ("""
        await Helper(self.client).run()
        """, ["create Node"]),
    ],
)  # fmt: skip
def test_an_object_is_followed_from_where_it_comes(tmp_path: Path, body: str, expected: list[str]) -> None:
    more = """
    import asyncio
    from dataclasses import dataclass

    def made():
        secret = Secret()
        return secret

    @dataclass
    class Helper:
        client: pt.Client
        async def run(self) -> None:
            await self.client.create(Node())

    def named(self, name: str) -> ConfigMap:
        return ConfigMap(metadata=pt.ObjectMeta(name=name))

    GreetingReconciler.named = named
    """
    calls = found(tmp_path, body, more)
    assert (needed(calls), calls.unknown) == (expected, [])


def test_a_function_that_the_target_does_not_reach_is_not_read(tmp_path: Path) -> None:
    calls = found(tmp_path, "await reached(self.client)", """
    async def reached(client: pt.Client) -> None:
        await client.create(Secret())

    async def unreached(client: pt.Client) -> None:
        await client.create(Node())

    if __name__ == "__main__":
        unreached(None)
    """)  # fmt: skip
    assert needed(calls) == ["create Secret"]


def test_a_call_whose_kind_is_not_known_is_reported_with_its_line(tmp_path: Path) -> None:
    calls = found(tmp_path, "await self.client.create(self.something_else(request))")
    assert calls.calls == []
    [line] = calls.unknown
    assert line.endswith(": self.client.create(self.something_else(request), …)")
    assert line.startswith(f"{tmp_path / 'operator_.py'}:")


def test_a_recorder_that_is_made_in_a_function_names_its_api(tmp_path: Path) -> None:
    calls = found(tmp_path, "request.manager.event_recorder_for('me', api_version='events.k8s.io/v1')")
    assert [version for version, _ in calls.recorders] == ["v1", "events.k8s.io/v1"], "the first one is of __init__"
