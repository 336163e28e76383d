"""Random UUIDs (version 4) as texts: the uids of objects, the ids of requests."""

from __future__ import annotations

import random
import uuid

_VERSION_4 = uuid.UUID(int=0, version=4).int
_MASK = uuid.UUID(int=2**128 - 1, version=4).int


def random_uid(chance: random.Random) -> str:
    """A new one, in half the time of `uuid.uuid4`."""
    digits = f"{chance.getrandbits(128) & _MASK | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
