from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from pilotage.cli import flagtypes


@pytest.mark.parametrize(
    ("bind", "address"), [(":80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:6443", ("localhost", 6443))]
)
def test_an_address_may_leave_out_the_host_and_be_of_either_family(bind: str, address: tuple[str, int]) -> None:
    assert flagtypes.address(bind) == address


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (flagtypes.names, "a, b,,", ("a", "b")),
        (flagtypes.count, "0", 0),
        (flagtypes.positive, "3", 3),
        (flagtypes.seconds, "2.5s", 2.5),
        (flagtypes.size, "64Mi", 64 * 2**20),
        (flagtypes.bind_address, "0", "0"),
    ],
)
def test_a_flag_is_read(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (flagtypes.count, "-1", "'-1' is not a number of 0 or more"),
        (flagtypes.positive, "0", "'0' is not a number of 1 or more"),
        (flagtypes.seconds, "nan", "'nan' is not a number of seconds"),
        (flagtypes.size, "much", "'much' is not a size, such as 64Mi or 1Gi"),
        (flagtypes.address, "6443", "'6443' is not HOST:PORT, such as 127.0.0.1:6443 or .*"),
        (flagtypes.log_level, "loud", ".*loud.*"),
    ],
)
def test_a_value_of_another_type_is_refused(read: Callable[[str], object], text: str, problem: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{problem}$"):
        read(text)
