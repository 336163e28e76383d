"""ListCache: the same bytes while nothing changes, and new ones immediately after a change."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pilotage.device.server.registry import Caller, DeviceRegistry, RegistryOptions
from pilotage.device.server.services import gpu as listcache
from pilotage.device.server.services.gpu import ListCache
from pilotage.device.wire import documents
from pilotage.device.wire.client import decode_page
from pilotage.device.wire.generation import RESOURCE, Generation
from pilotage.errors import BadRequest, ServiceUnavailable, Timeout
from pilotage.rest import APIRequest, ListOptions, Verb
from pilotage.server.verbs import read
from pilotage.storage.interface import Snapshot
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.sqlite import SqliteStorage

from ..fakes import FIRST, api, condition, gpu, registry

LIST = APIRequest(Verb.LIST, RESOURCE)


async def names(kept: ListCache, request: APIRequest = LIST) -> list[str]:
    page = decode_page(Generation.V6, (await kept.answer(Caller(), request)).message)
    return [documents.read(item).metadata.name for item in page.items]


async def test_nothing_is_encoded_again_while_nothing_changes() -> None:
    async with registry() as opened:
        await api(opened).create(gpu())
        kept = ListCache(opened, Generation.V6)
        first = (await kept.answer(Caller(), LIST)).message
        with mock.patch.object(listcache, "encode_page", side_effect=AssertionError("encoded again")):
            assert (await kept.answer(Caller(), LIST)).message is first
            again = APIRequest(Verb.LIST, RESOURCE, options=ListOptions(resource_version="0"))
            assert (await kept.answer(Caller("other"), again)).message is first


async def test_every_change_is_in_the_next_list() -> None:
    async with registry() as opened:
        kept, caller = ListCache(opened, Generation.V6), api(opened)
        assert await names(kept) == []
        await caller.create(gpu("a"))
        await caller.create(gpu("b"))
        assert await names(kept) == ["a", "b"]
        before = await kept.answer(Caller(), LIST)
        await caller.set_status("a", condition())
        assert await kept.answer(Caller(), LIST) != before
        await caller.delete("a")
        assert await names(kept) == ["b"]


@pytest.mark.parametrize("generation", [Generation.V6, Generation.V8])
async def test_a_list_at_a_version_that_is_not_reached_is_answered_with_the_newest(generation: Generation) -> None:
    """Informers of V2, V3 and V6 ask again for the last version they saw, and cannot read that it is too large."""
    async with registry() as opened:
        await api(opened).create(gpu())
        kept = ListCache(opened, generation)
        ahead = APIRequest(Verb.LIST, RESOURCE, options=ListOptions(resource_version="9" * 18))
        page = decode_page(generation, (await kept.answer(Caller(), ahead)).message)
        assert len(page.items) == 1
        assert int(page.resource_version) == opened.context.storage.revision


@pytest.mark.parametrize("match", ["NotOlderThan", "Exact"])
async def test_a_list_that_must_match_a_version_that_is_not_reached_is_refused(
    match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "WAIT_SECONDS", 0.01)
    async with registry() as opened:
        ahead = ListOptions(resource_version="9" * 18, resource_version_match=match)
        with pytest.raises(Timeout, match="Too large resource version"):
            await ListCache(opened, Generation.V6).answer(Caller(), APIRequest(Verb.LIST, RESOURCE, options=ahead))


async def test_a_list_at_what_is_no_version_is_refused() -> None:
    async with registry() as opened:
        with pytest.raises(BadRequest, match="invalid resource version"):
            await names(
                ListCache(opened, Generation.V6),
                APIRequest(Verb.LIST, RESOURCE, options=ListOptions(resource_version="x")),
            )


async def test_a_change_of_another_process_is_in_the_next_list(tmp_path: Path) -> None:
    path = str(tmp_path / "gpus.db")
    async with AsyncExitStack() as stack:
        services = []
        for _ in range(2):
            storage = await SqliteStorage.open(path)
            stack.push_async_callback(storage.close)
            options = RegistryOptions(gate_seconds=0)
            services.append(await stack.enter_async_context(DeviceRegistry(storage, options)))
        ours, theirs = services
        kept = ListCache(ours, Generation.V6)
        assert await names(kept) == []
        await api(theirs).create(gpu("a"))
        assert await names(kept) == ["a"]


async def test_a_list_with_options_is_made_for_who_asks() -> None:
    async with registry() as opened:
        kept, caller = ListCache(opened, Generation.V6), api(opened)
        await caller.create(gpu("a", metadata={"labels": {"tier": "gold"}}))
        await caller.create(gpu("b"))
        assert await names(kept) == ["a", "b"]
        gold = APIRequest(Verb.LIST, RESOURCE, options=ListOptions(label_selector="tier=gold"))
        assert await names(kept, gold) == ["a"]
        assert await names(kept) == ["a", "b"]


async def test_what_no_caller_may_ask_is_refused_though_the_answer_is_there() -> None:
    async with registry(gate_seconds=60) as opened:
        kept = ListCache(opened, Generation.V6)
        assert await kept.answer(Caller("nvml"), LIST)
        with pytest.raises(ServiceUnavailable):
            await kept.answer(Caller(), LIST)
        with pytest.raises(BadRequest):
            await kept.answer(Caller("no\nprovider"), LIST)


async def test_what_is_very_large_is_not_kept() -> None:
    async with registry() as opened:
        await api(opened).create(gpu())
        kept = ListCache(opened, Generation.V6)
        with mock.patch.object(listcache, "_KEPT_BYTES", 10):
            assert await names(kept) == ["gpu-0"]
        assert kept._kept == b""


class Hesitant(MemoryStorage):
    """Other tasks run before and after each list."""

    async def list(self, prefix: str, **more: Any) -> Snapshot:
        await asyncio.sleep(0)
        try:
            return await super().list(prefix, **more)
        finally:
            await asyncio.sleep(0)


async def test_those_who_ask_at_once_all_get_the_newest() -> None:
    async with registry(Hesitant(first_revision=FIRST)) as opened:
        kept, caller = ListCache(opened, Generation.V6), api(opened)

        async def write_and_read(name: str) -> None:
            await caller.create(gpu(name))
            assert name in await names(kept)

        await asyncio.gather(*(write_and_read(f"gpu-{number}") for number in range(20)))
