"""Faults between a client and a real kube-apiserver."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.client.client import Client
from pilotage.client.transport.http import HTTPTransport
from pilotage.errors import ConnectionLost
from pilotage.http.certificates import self_signed
from pilotage.http.tls import client_context, server_context
from pilotage.rest.listing import BackoffOptions
from pilotage.testing.proxy import Cut, CutLine, DuplicateLine, FaultProxy, LoseAnswer, Stall, is_watch, method_is
from pilotage.types.core.v1 import ConfigMap, Namespace
from tests.cache.informers import Diary, running, until

pytestmark = [pytest.mark.cluster]
QUICK = BackoffOptions(first=0.02, limit=0.1)


@dataclass(frozen=True)
class Scene:
    """A client that goes through a proxy, one that does not, and a namespace of their own."""

    proxy: FaultProxy
    proxied: Client
    direct: Client
    namespace: str

    @asynccontextmanager
    async def informer(self, backoff: BackoffOptions | None = None) -> AsyncIterator[tuple[Informer[ConfigMap], Diary]]:
        source = await self.proxied.lister_watcher(ConfigMap, namespace=self.namespace)
        options = InformerOptions(ConfigMap, namespace=self.namespace, backoff=backoff)
        made, diary = Informer[ConfigMap](source, options), Diary()
        made.add_event_handler(diary)
        async with running(made):
            await until(lambda: made.live, 30)
            yield made, diary

    async def create(self, *names: str) -> None:
        for name in names:
            await self.direct.create(ConfigMap(metadata=pt.ObjectMeta(name=name)))


@asynccontextmanager
async def scene(cluster: RealCluster, folder: Path) -> AsyncIterator[Scene]:
    certificate = self_signed("127.0.0.1")
    (folder / "proxy.crt").write_bytes(certificate.certificate)
    (folder / "proxy.key").write_bytes(certificate.key)
    url = urlsplit(cluster.url)
    assert url.hostname is not None
    assert url.port is not None
    async with pt.Cluster.connect(kubeconfig=str(cluster.kubeconfig)) as direct:
        made = await direct.client.create(Namespace(metadata=pt.ObjectMeta(generate_name="faults-")))
        async with (
            FaultProxy(
                url.hostname,
                url.port,
                server_ssl=server_context(str(folder / "proxy.crt"), str(folder / "proxy.key")),
                client_ssl=client_context(str(cluster.ca_file)),
            ) as proxy,
            HTTPTransport(
                f"https://127.0.0.1:{proxy.address[1]}", token=cluster.token, ca_file=str(folder / "proxy.crt")
            ) as transport,
        ):
            name = made.metadata.name
            yield Scene(proxy, Client(transport).with_namespace(name), direct.client.with_namespace(name), name)
        await direct.client.delete(made)


@pytest.mark.covers("F27")
async def test_a_create_whose_answer_is_lost_is_not_sent_again(real_control_plane: RealCluster, tmp_path: Path) -> None:
    async with scene(real_control_plane, tmp_path) as stage:
        stage.proxy.add(LoseAnswer(when=method_is("POST")))
        with pytest.raises(ConnectionLost, match="whether it took effect is not known"):
            await stage.proxied.create(ConfigMap(metadata=pt.ObjectMeta(generate_name="made-")))
        found = [one.metadata.name for one in await stage.direct.list(ConfigMap)]
        assert len([name for name in found if name.startswith("made-")]) == 1


@pytest.mark.covers("F10", "F16", "F28")
async def test_an_informer_loses_nothing_and_receives_nothing_twice_while_its_watches_break(
    real_control_plane: RealCluster, tmp_path: Path
) -> None:
    names = [f"object-{number}" for number in range(40)]
    async with scene(real_control_plane, tmp_path) as stage, stage.informer(QUICK) as (_, diary):
        stage.proxy.add(Cut(after_bytes=8000, direction="down", reset=True, times=3))
        stage.proxy.add(CutLine(2, when=is_watch, times=2))
        for number in range(1, 6):
            stage.proxy.add(DuplicateLine(number, when=is_watch, times=None))
        await stage.create(*names)
        await until(lambda: len(diary.events) >= 40, 60)
        assert sum(stage.proxy.statistics().faults.values()) >= 3
    assert diary.heard == [("create", name) for name in names]


@pytest.mark.covers("F10")
@pytest.mark.long
async def test_a_watch_that_falls_silent_is_noticed_and_resumed(
    real_control_plane: RealCluster, tmp_path: Path
) -> None:
    async with scene(real_control_plane, tmp_path) as stage, stage.informer() as (made, diary):
        await stage.create("before")
        await until(lambda: len(diary.events) == 1, 30)
        stall = stage.proxy.add(Stall(direction="down"))
        await stage.create("unheard")
        await until(lambda: not made.live, 100)
        stage.proxy.remove(stall)
        await until(lambda: made.live and len(diary.events) == 2, 100)
    assert diary.heard == [("create", "before"), ("create", "unheard")]
