"""The REST mapper reads discovery when it is opened, and again for an unknown kind, but not too often."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pilotage.client.restmapper import DynamicRESTMapper
from pilotage.errors import ConnectionLost, NoMatch
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.testing import loop
from pilotage.workqueue.limiters import BucketRateLimiter

from .fakes import Recorder


def mapping(kind: str) -> RESTMapping:
    plural = f"{kind.lower()}s"
    gvk = GroupVersionKind("t.io", "v1", kind)
    return RESTMapping(gvk, GroupVersionResource("t.io", "v1", plural), True, kind.lower(), (kind[:2].lower(),))


WIDGET, GADGET = mapping("Widget"), mapping("Gadget")


class Server(Recorder):
    """Answers discovery after `seconds`, or fails."""

    def __init__(self, *served: RESTMapping, seconds: float = 0.0) -> None:
        super().__init__(served=served)
        self.seconds = seconds
        self.failure: Exception | None = None

    async def resources(self) -> Sequence[RESTMapping]:
        self.discoveries += 1
        served = tuple(self.served)  # as it was when it was asked
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return served


@pytest.mark.virtual_time
async def test_it_knows_everything_when_it_is_attached() -> None:
    mapper = DynamicRESTMapper()
    async with mapper.attach(Server(WIDGET, seconds=1), immediate=False):
        assert mapper.kind_for("wi") == WIDGET.gvk
        assert mapper.rest_mapping(WIDGET.gvk) == WIDGET


@pytest.mark.virtual_time
async def test_a_miss_asks_in_the_background_and_a_later_lookup_finds_it() -> None:
    mapper, server = DynamicRESTMapper(), Server(WIDGET, seconds=1)
    async with mapper.attach(server, immediate=False):
        server.served.append(GADGET)
        with pytest.raises(NoMatch, match=r'resource type "gadgets"; discovery is running again: `await .*lookup'):
            mapper.kind_for("gadgets")
        with pytest.raises(NoMatch, match='no matches for kind "Gadget"'):
            mapper.rest_mapping(GADGET.gvk)  # the same discovery is used
        await asyncio.sleep(1.5)
        assert mapper.kind_for("gadgets") == GADGET.gvk
        assert server.discoveries == 2


@pytest.mark.virtual_time
async def test_lookup_waits_for_the_server() -> None:
    mapper, server = DynamicRESTMapper(), Server(WIDGET, seconds=1)
    async with mapper.attach(server, immediate=False):
        server.served.append(GADGET)
        assert await mapper.lookup("ga") == GADGET
        assert await mapper.lookup(WIDGET.gvk) == WIDGET
        assert server.discoveries == 2
        with pytest.raises(NoMatch, match="doesn't have a resource type"):
            await mapper.lookup("nothing")
        assert server.discoveries == 3


@pytest.mark.virtual_time
async def test_a_server_that_answers_without_waiting_is_asked_within_the_lookup() -> None:
    mapper, server = DynamicRESTMapper(), Server()
    async with mapper.attach(server, immediate=True):
        server.served.append(WIDGET)
        assert mapper.kind_for("widgets") == WIDGET.gvk
        server.seconds = 1  # now it waits for discovery
        server.served.append(GADGET)
        with pytest.raises(NoMatch):
            mapper.kind_for("gadgets")
        await asyncio.sleep(1.5)
        assert mapper.kind_for("gadgets") == GADGET.gvk


async def test_misses_ask_no_more_often_than_the_limit_allows() -> None:
    seconds = 0.0
    limiter: BucketRateLimiter[None] = BucketRateLimiter(1.0, 2, clock=lambda: seconds)
    mapper, server = DynamicRESTMapper(limiter=limiter), Server()
    async with mapper.attach(server, immediate=True):
        opened = server.discoveries
        for _ in range(10):
            with pytest.raises(NoMatch):
                mapper.kind_for("nothing")
        assert server.discoveries == opened + 2
        server.served.append(WIDGET)
        seconds = 1.0
        assert mapper.kind_for("widgets") == WIDGET.gvk
        assert server.discoveries == opened + 3


@pytest.mark.virtual_time
async def test_lookups_that_must_wait_for_the_limit_share_one_discovery() -> None:
    mapper, server = DynamicRESTMapper(limiter=BucketRateLimiter(0.1, 1)), Server(seconds=1)
    async with mapper.attach(server, immediate=False):
        opened, began = server.discoveries, asyncio.get_running_loop().time()
        missed = await asyncio.gather(*(mapper.lookup(f"n{i}") for i in range(20)), return_exceptions=True)
        assert all(isinstance(one, NoMatch) for one in missed)
        assert (
            server.discoveries == opened + 2
        )  # one for the first of them, one for all that came while it was under way
        assert asyncio.get_running_loop().time() - began == pytest.approx(10 + 1)


@pytest.mark.virtual_time
async def test_a_discovery_that_began_before_is_not_taken_for_an_answer() -> None:
    mapper, server = DynamicRESTMapper(), Server(seconds=1)
    async with mapper.attach(server, immediate=False):
        early = asyncio.create_task(mapper.discover())
        await asyncio.sleep(0.5)
        server.served.append(WIDGET)  # the discovery under way does not see it any more
        assert await mapper.lookup("widgets") == WIDGET
        await early
        assert mapper.kind_for("widgets") == WIDGET.gvk


@pytest.mark.virtual_time
async def test_an_older_answer_does_not_replace_a_newer_one() -> None:
    mapper, server = DynamicRESTMapper(), Server()
    async with mapper.attach(server, immediate=True):
        server.seconds = 1
        late = asyncio.create_task(mapper.discover())
        await asyncio.sleep(0.5)
        server.seconds = 0
        server.served.append(WIDGET)
        assert mapper.kind_for("widgets") == WIDGET.gvk
        await late
        assert mapper.kind_for("widgets") == WIDGET.gvk


@pytest.mark.virtual_time
@pytest.mark.parametrize("failure", [ConnectionLost("refused"), None])
async def test_a_server_that_does_not_answer_does_not_prevent_the_opening(
    failure: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    mapper, server = DynamicRESTMapper(), Server(WIDGET, seconds=60)
    if failure is not None:
        server.seconds, server.failure = 0, failure
    async with mapper.attach(server, immediate=False):
        assert asyncio.get_running_loop().time() <= 5
        assert "Discovery failed" in caplog.text
        server.seconds, server.failure = 0, None
        assert (await mapper.lookup("widgets")) == WIDGET


@pytest.mark.virtual_time
async def test_no_discovery_goes_on_after_the_end() -> None:
    mapper, server = DynamicRESTMapper(), Server(WIDGET)
    async with mapper.attach(server, immediate=False):
        server.seconds = 60
        with pytest.raises(NoMatch):
            mapper.kind_for("gadgets")
        await asyncio.sleep(1)
    assert len(asyncio.all_tasks()) == 1
    assert mapper.kind_for("widgets") == WIDGET.gvk
    with pytest.raises(NoMatch):
        mapper.kind_for("gadgets")


def test_it_may_be_attached_again_on_another_loop_whose_time_is_earlier() -> None:
    mapper, server = DynamicRESTMapper(), Server()

    async def misses(after: float) -> int:
        await asyncio.sleep(after)
        before = server.discoveries
        async with mapper.attach(server, immediate=True):
            for _ in range(10):
                with pytest.raises(NoMatch):
                    mapper.kind_for("nothing")
        return server.discoveries - before

    assert loop.run(misses(1000)) == loop.run(misses(0)) == 1 + 5


async def test_a_lookup_in_a_thread_waits_for_the_server() -> None:
    mapper, server = DynamicRESTMapper(), Server(WIDGET, seconds=0.01)
    async with mapper.attach(server, immediate=False):
        server.served.append(GADGET)
        assert await asyncio.to_thread(mapper.kind_for, "gadgets") == GADGET.gvk
        server.failure = ConnectionLost("refused")
        with pytest.raises(ConnectionLost):
            await asyncio.to_thread(mapper.kind_for, "nothing")


def test_a_mapper_without_a_server_knows_what_it_was_given() -> None:
    mapper = DynamicRESTMapper()
    mapper.replace([WIDGET])
    assert mapper.kind_for("widgets") == WIDGET.gvk
    with pytest.raises(NoMatch, match="doesn't have a resource type"):
        mapper.kind_for("gadgets")
