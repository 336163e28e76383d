"""Many watches of all kinds at once: the received events, in any portions, add up to the current state."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from pilotage.errors import Gone
from pilotage.meta.documents import Document
from pilotage.testing import loop
from tests.seeds import seeds

from .fakes import Out, api, condition, gpu
from .test_watchcache import Stage, Watch, settled, stage

SELECTORS = ("", "", "tier=gold", "tier!=gold", "tier in (gold,tin)")
TIERS = ("gold", "tin", "")
State = dict[str, str]
"""The versions of GPUs by their names."""


@dataclass
class Model:
    """What there was at every version, kept beside the server."""

    here: Stage
    chance: random.Random
    labels: dict[int, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """At each version: of each GPU its own version, and its tier."""

    async def write(self) -> None:
        name, tier = f"gpu-{self.chance.randrange(6)}", self.chance.choice(TIERS)
        client = api(self.here.registry, "nvml")
        there = self.labels[max(self.labels)] if self.labels else {}
        document = gpu(
            name, metadata={"labels": {"tier": tier} if tier else {}}, spec={"uuid": str(self.chance.random())}
        )
        if name not in there:
            await client.create(document)
        elif self.chance.random() < 0.2:
            await client.delete(name)
        elif self.chance.random() < 0.5:
            await client.update(document)
        else:
            await client.set_status(name, condition(reason=f"R{self.chance.random()}"))
        await self.note()

    async def note(self) -> None:
        items, version = await self.here.api.list()
        self.labels[int(version)] = {
            one["metadata"]["name"]: (
                one["metadata"]["resourceVersion"],
                one["metadata"].get("labels", {}).get("tier", ""),
            )
            for one in items
        }

    def state(self, version: int, selector: str) -> State:
        found = self.labels[version]
        return {name: own for name, (own, tier) in found.items() if _chosen(selector, tier)}


def _chosen(selector: str, tier: str) -> bool:
    return {
        "": True,
        "tier=gold": tier == "gold",
        "tier!=gold": tier != "gold",
        "tier in (gold,tin)": tier in ("gold", "tin"),
    }[selector]


@dataclass
class Follower:
    watch: Watch
    selector: str
    start: int
    """The version it began from; 0: with all there was."""

    def check(self, model: Model) -> bool:
        """Whether it has received everything up to the end."""
        state = model.state(self.start, self.selector) if self.start else {}
        last, floor = self.start, 0
        for position, (kind, document) in enumerate(self.watch.out.events()):
            version = int(document["metadata"]["resourceVersion"])
            if kind == "BOOKMARK":
                assert version >= last
                floor = last = version
                continue
            initial = not self.start and kind == "ADDED" and position < 6 and version < last
            assert initial or version > last, "versions grow"
            assert version > floor, "nothing is told that a bookmark has promised"
            last = max(last, version)
            _apply(state, kind, document)
        if isinstance(_result(self.watch), Gone):
            return False
        assert state == model.state(max(model.labels), self.selector)
        return True


def _apply(state: State, kind: str, document: Document) -> None:
    name, version = document["metadata"]["name"], document["metadata"]["resourceVersion"]
    assert (name in state) is (kind != "ADDED"), "added once, then changed, then deleted"
    if kind == "DELETED":
        del state[name]
    else:
        state[name] = version


def _result(watch: Watch) -> BaseException | None:
    return watch.task.result() if watch.task.done() else None


@pytest.mark.covers("D8")
@seeds(3, 12)
def test_the_events_of_every_watch_add_up_to_the_state(seed: int) -> None:
    async def run() -> None:
        chance = random.Random(seed)  # a test that can be repeated needs no secret
        options = {"log_events": 24, "lag_events": 20, "history_bytes": 30_000, "bookmark_seconds": 0.5}
        async with stage(**options) as here:
            model = Model(here, chance)
            await model.note()
            followers: list[Follower] = []
            for _ in range(150):
                await model.write()
                if chance.random() < 0.3:
                    followers.append(_begin(here, model, chance))
                for follower in chance.sample(followers, len(followers) // 5):
                    follower.watch.out.drain(chance.choice((0, 300, 5000)))
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.choice((0, 0.001, 0.6)))
            for follower in followers:
                follower.watch.out.drain()
            await settled()
            whole = [follower.check(model) for follower in followers]
            assert any(whole)
            assert not all(whole)  # some had to list again

    loop.run(run(), seed=seed)


def _begin(here: Stage, model: Model, chance: random.Random) -> Follower:
    selector = chance.choice(SELECTORS)
    start = chance.choice((0, *list(model.labels)[-40:]))
    out = Out(chance.choice((0, 500, 5000, 1 << 30)))
    watch = here.watch(
        out,
        label_selector=selector,
        resource_version=str(start) if start else "",
        allow_watch_bookmarks=chance.random() < 0.5,
    )
    return Follower(watch, selector, start)
