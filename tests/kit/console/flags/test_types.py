from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from pilotage.kit.console.flags import types


@pytest.mark.parametrize(
    ("bind", "address"), [(":80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:6443", ("localhost", 6443))]
)
def test_an_address_may_leave_out_the_host_and_be_of_either_family(bind: str, address: tuple[str, int]) -> None:
    assert types.address(bind) == address


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (types.names, "a, b,,", ("a", "b")),
        (types.count, "0", 0),
        (types.positive, "3", 3),
        (types.seconds, "2.5s", 2.5),
        (types.size, "64Mi", 64 * 2**20),
        (types.bind_address, "0", "0"),
    ],
)
def test_a_flag_is_read(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (types.count, "-1", "'-1' is not a number of 0 or more"),
        (types.positive, "0", "'0' is not a number of 1 or more"),
        (types.seconds, "nan", "'nan' is not a number of seconds"),
        (types.size, "much", "'much' is not a size, such as 64Mi or 1Gi"),
        (types.address, "6443", "'6443' is not HOST:PORT, such as 127.0.0.1:6443 or .*"),
        (types.log_level, "loud", ".*loud.*"),
    ],
)
def test_a_value_of_another_type_is_refused(read: Callable[[str], object], text: str, problem: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{problem}$"):
        read(text)
