"""Watches that lag behind each other, and a restart that begins with an old view: the end state is the same."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

import pilotage as pt
from pilotage.cli.demo import databases as demo
from pilotage.errors import Invalid, NotFound
from pilotage.rest import APIRequest, Page, Transport, WatchEvent
from pilotage.rest.listing import BOOKMARK_SECONDS_ANNOTATION
from pilotage.types.core.v1 import Secret

from .network import R, Send
from .operators import DEMO, OPERATORS, setup_of
from .simulation import CrashingLink, simulate
from .test_crashes import reference

EACH = pytest.mark.parametrize("name", OPERATORS)
UNTIMED = pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if not operator.timed])
"""The state of the other operators at a given moment depends on the lag."""
LONGEST = 60.0
MANY = range(50)


class LaggingLink(CrashingLink):
    """Delivers the events of each resource late, each resource with a lag of its own."""

    silence_seconds = 10 * LONGEST

    def __init__(self, server: Transport, chance: random.Random) -> None:
        super().__init__(server)
        self._random = chance
        self._lags: dict[str, float] = {}

    def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        lag = self._random.choice((0.0, LONGEST * self._random.random()))
        return late(events, self._lags.setdefault(request.resource.resource, lag))


async def late(events: AsyncIterator[WatchEvent], lag: float) -> AsyncIterator[WatchEvent]:
    """The same events, each so many seconds later."""
    time = asyncio.get_running_loop().time
    arrived: asyncio.Queue[tuple[float, WatchEvent] | None] = asyncio.Queue()

    async def read() -> None:
        async for event in events:
            arrived.put_nowait((time() + lag, event))
        arrived.put_nowait(None)

    reading = asyncio.ensure_future(read())
    try:
        while (found := await arrived.get()) is not None:
            due, event = found
            await asyncio.sleep(max(0.0, due - time()))
            yield without_rhythm(event)
    finally:
        reading.cancel()
        await asyncio.wait([reading])


def without_rhythm(event: WatchEvent) -> WatchEvent:
    """A bookmark that does not say how often the server sends one, which holds on its own side of the network only."""
    if event.type != "BOOKMARK":
        return event
    document = msgspec.json.decode(event.object)
    document["metadata"].get("annotations", {}).pop(BOOKMARK_SECONDS_ANNOTATION, None)
    return WatchEvent("BOOKMARK", msgspec.json.encode(document))


def check_lags(name: str, seeds: Iterable[int]) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        outcome = simulate(OPERATORS[name], lambda server, _: LaggingLink(server, chance), seed, 5 * LONGEST)  # noqa: B023
        assert outcome.state == reference(name)[0].state, f"{name}: seed {seed}"


@pytest.mark.covers("F17")
@UNTIMED
def test_an_operator_whose_watches_lag_apart_reaches_the_same_state(name: str) -> None:
    check_lags(name, range(1))


@pytest.mark.covers("F17")
@pytest.mark.long
@pytest.mark.timeout(600)
@UNTIMED
def test_an_operator_whose_watches_lag_apart_reaches_the_same_state_in_50_simulations(name: str) -> None:
    check_lags(name, MANY)


class Impatient(demo.DatabaseReconciler):
    """A defect on purpose: it relies on the order of events of two kinds."""

    async def reconcile(self, request: pt.Request) -> pt.Result:
        if await self.client.find(Secret, f"{request.name}-password", namespace=request.namespace) is None:
            raise pt.TerminalError("the Secret was created before the Database")
        return await super().reconcile(request)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        ignored = pt.enqueue_requests_from(lambda _: [])
        pt.ControllerBuilder(manager).for_(demo.Database).watches(Secret, ignored).complete(self)


def test_the_simulation_finds_a_reconciler_that_relies_on_the_order_of_two_kinds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defect = replace(DEMO, setup=setup_of(Impatient), steps=(both_at_once,))
    monkeypatch.setitem(OPERATORS, "defect", defect)
    with pytest.raises(AssertionError, match="defect: seed"):
        check_lags("defect", range(10))


async def both_at_once(client: pt.Client) -> None:
    for step in (DEMO.steps[0], DEMO.steps[2]):
        await step(client)


class StaleLink(CrashingLink):
    """The link after a restart, to a replica of the API server that lags: its first lists are some versions old."""

    def __init__(self, server: Transport, versions: int) -> None:
        super().__init__(server)
        self._versions = versions

    async def list(self, request: APIRequest) -> Page:
        options = request.options
        if options.resource_version != "0":
            return await super().list(request)
        newest = await super().list(request)
        old = str(max(1, int(newest.resource_version) - self._versions))
        exact = structs.replace(options, resource_version=old, resource_version_match="Exact", limit=0)
        try:
            return await super().list(structs.replace(request, options=exact))
        except NotFound:
            return newest  # the kind was not served then

    def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        if request.options.send_initial_events:
            raise Invalid("sendInitialEvents is forbidden for watch")  # a server that cannot stream lists
        return late(events, 5.0)


class KilledLink(CrashingLink):
    """A link whose program is killed after its n-th write."""

    def __init__(self, server: Transport, at: int) -> None:
        super().__init__(server)
        self._left = at

    async def write(self, request: APIRequest, send: Send[R]) -> R:
        response = await send()
        self._left -= 1
        if not self._left:
            self.crash()
        return response


def check_stale(name: str, versions: Iterable[int], writes: Iterable[int], seed: int = 0) -> None:
    expected, _ = reference(name)
    for back in versions:
        for at in writes:
            outcome = simulate(
                OPERATORS[name],
                lambda server, life: StaleLink(server, back) if life else KilledLink(server, at),  # noqa: B023
                seed,
            )
            assert outcome.state == expected.state, f"{name}: killed after write {at}, then {back} versions back"
            assert outcome.lives == 2 or seed, "the order of tasks decides how many writes there are"


@pytest.mark.covers("F18")
@EACH
def test_an_operator_that_restarts_with_an_old_view_reaches_the_same_state(name: str) -> None:
    check_stale(name, [2], [1, reference(name)[1]])


@pytest.mark.covers("F18")
@pytest.mark.long
@pytest.mark.timeout(600)
@EACH
def test_an_operator_that_restarts_with_any_old_view_reaches_the_same_state(name: str) -> None:
    for seed in range(5):
        check_stale(name, range(1, 9), range(1, reference(name)[1] + 1), seed)
