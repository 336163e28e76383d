from __future__ import annotations

import pytest

from pilotage.kubernetes.checks.addresses import (
    address,
    validate_address,
    validate_canonical_address,
    validate_network,
)


@pytest.mark.parametrize("text", ["10.0.0.1", "0.0.0.0", "::1", "2001:DB8::0001", "100.200.1.10"])
def test_an_address_is_accepted_in_any_spelling(text: str) -> None:
    assert not list(validate_address(text, "ip"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be a valid IP address"),
        ("300.1.1.1", "must be a valid IP address"),
        ("fe80::1%eth0", "must be a valid IP address"),
        ("1" * 10_000, "must be a valid IP address"),
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_other_texts_are_refused(text: str, problem: str) -> None:
    [cause] = validate_address(text, "ip")
    assert problem in cause.message


def test_leading_zeros_are_decimal() -> None:
    assert address("010.000.000.001") == address("10.0.0.1")


def test_an_address_that_the_object_had_before_is_not_checked() -> None:
    assert not list(validate_address("010.0.0.1", "ip", ["010.0.0.1"]))


def test_the_canonical_form_is_asked_for() -> None:
    [cause] = validate_canonical_address("2001:DB8::1", "ip")
    assert cause.message == 'Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")'


@pytest.mark.parametrize("text", ["10.0.0.0/8", "::/0", "fd00::/64", "1.2.3.4/32"])
def test_a_network_is_accepted(text: str) -> None:
    assert not list(validate_network(text, "cidr"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0", "must be a valid CIDR"),
        ("10.0.0.0/33", "must be a valid CIDR"),
        ("10.0.0.0/-1", "must be a valid CIDR"),
        ("10.0.0.0/255.0.0.0", "must be a valid CIDR"),
        ("10.0.0.0/" + "1" * 10_000, "must be a valid CIDR"),
        ("010.0.0.0/8", "must not have leading 0s"),
        ("10.0.0.0/08", "must not have leading 0s"),
        ("10.0.0.1/8", "must not have bits set"),
        ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped"),
    ],
)
def test_other_networks_are_refused(text: str, problem: str) -> None:
    [cause] = validate_network(text, "cidr")
    assert problem in cause.message
