"""The servers of the storage do not answer: requests fail in time, with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from pilotage.errors import ServiceUnavailable, StorageUnavailable
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS, opened
from .test_handler import ask, document

pytestmark = pytest.mark.virtual_time


class Unreachable(StorageWrapper):
    """A storage whose servers do not answer from some moment on; it gives up after ten seconds."""

    def __init__(self) -> None:
        super().__init__(MemoryStorage())
        self.answers = True

    def request(self) -> AbstractAsyncContextManager[None]:
        return self._request()

    @asynccontextmanager
    async def _request(self) -> AsyncIterator[None]:
        await self.check()
        yield

    async def check(self) -> None:
        if not self.answers:
            await asyncio.sleep(10)
            raise StorageUnavailable("etcd://a:2379: no member of etcd answers: connection refused", sent=False)


async def test_a_request_fails_with_503_and_the_reason() -> None:
    storage = Unreachable()
    async with opened(storage) as api:
        storage.answers = False
        answer = await ask(HTTPHandler(api.registry, "secret"), "/api/v1/namespaces/default/configmaps")
        assert answer.status == 503
        assert document(answer)["message"] == "etcd://a:2379: no member of etcd answers: connection refused"
        assert asyncio.get_running_loop().time() == pytest.approx(10)
        with pytest.raises(ServiceUnavailable, match="connection refused"):
            await api.registry.list(APIRequest(Verb.LIST, CONFIG_MAPS, "default"))


async def test_a_request_with_a_timeout_of_its_own_fails_within_it() -> None:
    storage = Unreachable()
    async with opened(storage) as api:
        handler = HTTPHandler(api.registry, "secret")
        storage.answers = False
        answer = await ask(handler, "/api/v1/namespaces/default/configmaps?timeout=2s")
        assert answer.status == 503
        assert document(answer)["message"].startswith("the storage has not answered within the 2 s")
        assert asyncio.get_running_loop().time() == pytest.approx(2)
        storage.answers = True
        assert (await ask(handler, "/api/v1/namespaces/default/configmaps?timeout=2s")).status == 200


async def test_health_is_answered_at_once() -> None:
    storage = Unreachable()
    async with opened(storage) as api:
        storage.answers = False
        assert (await ask(HTTPHandler(api.registry, "secret"), "/livez")).status == 200
        assert asyncio.get_running_loop().time() == 0
