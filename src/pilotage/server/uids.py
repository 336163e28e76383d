"""Random UUIDs (version 4) as texts: the uids of objects, the ids of requests."""

from __future__ import annotations

import random

_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def random_uid(chance: random.Random) -> str:
    """A new UUID, in a third of the time of `uuid.uuid4`."""
    digits = chance.randbytes(16).hex()
    variant = _VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
