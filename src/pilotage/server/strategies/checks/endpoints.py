"""Addresses that can be an endpoint of a service."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.server.strategies.checks.addresses import address

_LOCAL_MULTICAST = IPv4Network("224.0.0.0/24")


def validate_endpoint_address(text: str, path: str) -> Iterator[Cause]:
    """An address that other machines can reach."""
    found = address(text)
    if found is None:
        yield invalid(path, text, "must be a valid IP address")
        return
    if found.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if found.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if found in _LOCAL_MULTICAST if found.version == 4 else found.packed[0] == 0xFF and found.packed[1] & 0xF == 2:
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
