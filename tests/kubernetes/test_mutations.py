"""No document of the right types crashes a strategy, whatever is missing, empty or extreme in it."""

from __future__ import annotations

import json
import random

import pytest

from pilotage.codec.scalars import Mismatch
from pilotage.errors import ApiError
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.storage.memory import MemoryStorage

from .mutations import BASES, mutated
from .writes import created, status_written, updated

GROUPS = ("apps", "batch", "autoscaling", "policy", "networking.k8s.io", "storage.k8s.io")
CORE = ("replicationcontrollers", "services", "persistentvolumes", "persistentvolumeclaims")


@pytest.mark.parametrize("name", [n for n, b in BASES.items() if b["group"] in GROUPS or b["resource"] in CORE])
async def test_mutated_objects_are_stored_or_refused(name: str) -> None:
    base = BASES[name]
    resource = GroupVersionResource(base["group"], base["version"], base["resource"])
    info = await Catalogue(MemoryStorage(), "/t/", KINDS).find(resource)
    assert info.codec is not None
    chance = random.Random(name)
    metadata = {"name": "one", "namespace": "n", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
    text = json.dumps(base.get("live", base["stored"]))
    for mask, value in (("<allocated>", "10.0.0.9"), ("<time>", "2024-01-01T00:00:00Z")):
        text = text.replace(mask, value)
    old = info.codec.decode(json.loads(text), [])
    old["metadata"] |= metadata
    for _ in range(40):
        changed = mutated(base["object"], chance), mutated(old, chance)
        try:
            new, next_state = (info.codec.decode(document, []) for document in changed)
        except Mismatch:
            continue
        for write, document, before in (
            (created, new, ()),
            (updated, next_state, (old,)),
            (status_written, next_state, (old,)),
        ):
            content = document | {"metadata": document["metadata"] | metadata}
            try:
                document, causes = write(info.strategy, *before, **content)
            except ApiError:
                continue
            info.strategy.warnings(document, before[0] if before else None)
            if not causes:
                info.codec.encode(document)
