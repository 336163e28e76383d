"""What a program keeps for each object of its cache, counted in blocks of memory."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from pilotage.controller import Controller, InformerSource, Request, enqueue_request_for_object
from pilotage.controller.controller import ManagerSettings
from pilotage.manager.work import WorkTracker
from tests.cache.informers import informer
from tests.cache.informers import running as running_informer
from tests.reflector.scripted import Scripted, Step, modified, page

from .fakes import running

pytestmark = pytest.mark.virtual_time


async def kept(count: int) -> tuple[int, int]:
    """How many blocks, and objects that the garbage collector visits, are released when a controller has ended that
    has reconciled `count` objects twice."""
    names = [f"object-{number}" for number in range(count)]
    steps: list[Step] = [1.0, *(modified(name, 6) for name in names)]  # kept until the end, so they do not count
    source = Scripted([page(*names, version=5)], [steps])
    reconciled = 0

    async def reconcile(request: Request) -> None:
        nonlocal reconciled
        reconciled += 1

    made = informer(source)
    controller = Controller("memory", reconcile, manager=ManagerSettings(tracker=WorkTracker()))
    controller.watch(InformerSource(made, enqueue_request_for_object))
    async with running_informer(made), running(controller):
        await asyncio.sleep(2)
        assert reconciled == 2 * count
        gc.collect()
        blocks, tracked = sys.getallocatedblocks(), len(gc.get_objects())
    del made, controller
    await asyncio.sleep(1)
    gc.collect()
    return blocks - sys.getallocatedblocks(), tracked - len(gc.get_objects())


async def test_an_object_takes_its_bytes_and_its_name_and_nothing_else() -> None:
    await kept(10)  # what is made once
    few, many = await kept(500), await kept(1500)
    blocks, tracked = ((more - less) / 1000 for less, more in zip(few, many, strict=True))
    assert blocks < 2.1
    assert tracked < 0.1
