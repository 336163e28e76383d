from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from pilotage.meta.models import Model
from pilotage.meta.scalars.hooks import dec_hook, enc_hook
from pilotage.meta.scalars.intorstring import IntOrString
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.times import Duration, MicroTime


class Lease(Model):
    limits: dict[str, Quantity] = {}
    acquired: MicroTime | None = None
    lasts: Duration | None = None
    port: IntOrString | None = None


def decode(data: bytes) -> Lease:
    return msgspec.json.decode(data, type=Lease, dec_hook=dec_hook)


WIRE = (
    b'{"limits":{"cpu":"0.5","memory":1024,"disk":1.5},"acquired":"2026-01-02T03:04:05.000006Z",'
    b'"lasts":"1m0s","port":"http"}'
)


def test_fields_are_read_as_their_types() -> None:
    lease = decode(WIRE)
    assert lease.limits == {"cpu": Quantity("500m"), "memory": Quantity("1Ki"), "disk": Quantity("1500m")}
    assert lease.acquired == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert lease.lasts == Duration(minutes=1)
    assert lease.port == "http"


def test_nothing_changes_on_the_way_there_and_back_but_that_a_fraction_becomes_text() -> None:
    assert msgspec.json.encode(decode(WIRE), enc_hook=enc_hook) == WIRE.replace(b"1.5", b'"1.5"')


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"limits":{"cpu":"x"}}', r"quantities must match .* - at `\$.limits\[...\]`"),
        (b'{"limits":{"cpu":[]}}', "a quantity is a string or a number"),
        (b'{"acquired":5}', r"Expected `str`, got `int` - at `\$.acquired`"),
        (b'{"acquired":"5"}', "RFC 3339"),
        (b'{"lasts":{}}', "Expected `str`, got `object`"),
        (b'{"lasts":"1d"}', "a duration is written as"),
    ],
)
def test_errors_say_where(data: bytes, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        decode(data)


def test_other_types_are_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="type complex cannot be written"):
        msgspec.json.encode(1j, enc_hook=enc_hook)
    with pytest.raises(NotImplementedError, match="type complex cannot be read"):
        dec_hook(complex, 1)
