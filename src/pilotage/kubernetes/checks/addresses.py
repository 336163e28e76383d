"""IP addresses and networks (CIDRs), in the forms that Kubernetes has always accepted and in the strict ones."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from pilotage.errors import Cause
from pilotage.meta.causes import invalid

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LINK_LOCAL_MULTICAST = ip_network("224.0.0.0/24")
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_is_plain = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}").fullmatch
"""Whether a text is an IPv4 address in canonical form, as most are: in a tenth of the time that decoding it takes."""
_is_prefix_length = re.compile("[0-9]{1,9}", re.ASCII).fullmatch
_leading_zeros = re.compile(r"(?<![0-9a-fA-F.:])0+(?=[0-9])|(?<=\.)0+(?=[0-9])", re.ASCII)


def address(text: str) -> Address | None:
    """The address in a text; leading zeros in an IPv4 address are ignored."""
    if len(text) > 60 or "%" in text:
        return None
    try:
        return ip_address(_without_zeros(text))
    except ValueError:
        return None


def network(text: str) -> Network | None:
    """The network in a text; bits beyond the prefix length are ignored."""
    base, slash, length = text.partition("/")
    if address(base) is None or not slash or not _is_prefix_length(length):
        return None
    try:
        return ip_network(f"{_without_zeros(base)}/{int(length)}", strict=False)
    except ValueError:
        return None


def validate_address(text: str, path: str, known: Container[str] = ()) -> Iterator[Cause]:
    """An IP address, in any spelling; `known` ones are not checked, because the old object had them."""
    if text in known or _is_plain(text):
        return
    found = address(text)
    if found is None:
        yield invalid(path, text, _NO_ADDRESS)
        return
    if _has_zeros(text):
        yield invalid(path, text, "must not have leading 0s")
    if _is_mapped(found):
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def validate_reachable_address(text: str, path: str) -> Iterator[Cause]:
    """An address that another machine can reach."""
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
    if _is_link_local_multicast(found):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield invalid(path, text, detail)


def _is_link_local_multicast(found: Address) -> bool:
    if found.version == 4:
        return found in _LINK_LOCAL_MULTICAST
    return found.packed[0] == 0xFF and found.packed[1] & 0xF == 2  # with any flags


def validate_canonical_address(text: str, path: str) -> Iterator[Cause]:
    """An IP address in canonical form."""
    causes = list(validate_address(text, path))
    yield from causes
    if not causes and text != (canonical := str(address(text))):
        yield invalid(path, text, f'must be in canonical form ("{canonical}")')


def validate_network(text: str, path: str, known: Container[str] = ()) -> Iterator[Cause]:
    """A CIDR without bits beyond its prefix; `known` ones are not checked, because the object had them before."""
    if text in known:
        return
    found = network(text)
    if found is None:
        yield invalid(path, text, _NO_NETWORK)
        return
    base, _, length = text.partition("/")
    base_address = address(base)
    if _has_zeros(base) or (len(length) > 1 and length.startswith("0")):
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif base_address is not None and _is_mapped(base_address):
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif found.network_address != base_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def network_warnings(text: str, path: str) -> Iterator[str]:
    """Warnings about a valid CIDR that is not in canonical form."""
    found = network(text)
    if found is None:
        return
    base, _, length = text.partition("/")
    base_address = address(base)
    odd = _has_zeros(base) or (len(length) > 1 and length.startswith("0"))
    if base_address is not None and base_address != found.network_address:
        host = "32" if base_address.version == 4 else "128"
        better = f'"{base_address}/{host}"'
        yield f'{path}: CIDR value "{text}" is ambiguous in this context (should be "{found}" or {better}?)'
    if odd or (base_address is not None and _is_mapped(base_address)):
        yield f'{path}: non-standard CIDR value "{text}" is invalid: use "{found}"'
    elif base_address == found.network_address and found.version == 6 and str(found) != text:
        yield f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{found}")'


def address_warnings(text: str, path: str) -> Iterator[str]:
    """Warnings about a valid address that is not in canonical form."""
    found = address(text) if not _is_plain(text) else None
    if found is None:
        return
    if _has_zeros(text) or _is_mapped(found):
        better = found.ipv4_mapped if isinstance(found, IPv6Address) else found
        yield f'{path}: non-standard IP address "{text}" is invalid: use "{better}"'
    elif isinstance(found, IPv6Address) and str(found) != text:
        yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{found}")'


def _without_zeros(text: str) -> str:
    return _leading_zeros.sub("", text) if "." in text and ":" not in text else text


def _has_zeros(text: str) -> bool:
    return _without_zeros(text) != text


def _is_mapped(found: Address) -> bool:
    return isinstance(found, IPv6Address) and found.ipv4_mapped is not None
