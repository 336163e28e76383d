"""The rotation of a certificate authority, as a function from one state to the next.

An authority is used in three stages, so that at no time a client meets a certificate that it cannot verify:

1. `next`: it is in the bundle that clients trust, and signs nothing yet;
2. `current`: it signs the serving certificate;
3. `previous`: it is still in the bundle, because a replica may serve an older certificate, and signs nothing more.

From one stage to the next, `Validity.overlap` must pass after the bundle has reached the clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pilotage.http import certificates
from pilotage.http.certificates import Certificate
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field

_MAX_HOSTS = 64


@dataclass(frozen=True, slots=True)
class Validity:
    """How long certificates are valid. A new one is made when a third of the time is left."""

    authority: SecondsField = seconds_field(timedelta(days=3650), zero=False)
    serving: SecondsField = seconds_field(timedelta(days=90), zero=False)
    overlap: SecondsField = seconds_field(timedelta(hours=1))
    """How long a bundle must be with the clients before it is relied on."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class SecretState:
    """What the Secret has."""

    current: Certificate
    serving: Certificate
    next: Certificate | None = None
    previous: bytes = b""
    """The certificate of the authority that signed before; its key is forgotten."""

    @property
    def bundle(self) -> bytes:
        """All authorities that clients must trust now, each once."""
        authorities = [self.previous, self.current.certificate, self.next.certificate if self.next else b""]
        return b"".join(dict.fromkeys(pem for pem in authorities if pem))


def first_state(hosts: Sequence[str], now: datetime, validity: Validity) -> SecretState:
    """A new authority and a certificate of it for these hosts."""
    authority = certificates.authority(now, timedelta(seconds=validity.authority))
    return SecretState(authority, _serving(authority, hosts, now, validity))


def next_state(
    state: SecretState, hosts: Sequence[str], now: datetime, validity: Validity, trusted_for: timedelta | None
) -> SecretState:
    """The state after one step, or the same one if no step is due.

    `trusted_for` is for how long the clients have had the bundle of `state`; None: they do not have it yet.
    """
    hosts = _all_hosts(hosts, state)
    overlap = timedelta(seconds=validity.overlap)
    overlap_has_passed = trusted_for is not None and trusted_for >= overlap
    expired = certificates.expiry(state.current) <= now
    if expired:  # nothing was renewed for a long time: no valid certificate is left that could overlap
        return first_state(hosts, now, validity)
    if state.next is not None and overlap_has_passed:
        authority = state.next
        return SecretState(authority, _serving(authority, hosts, now, validity), None, state.current.certificate)
    if state.next is None and state.previous and overlap_has_passed and _since(state.serving, now) >= overlap:
        return replace(state, previous=b"")
    if state.next is None and not state.previous and is_due(state.current, now):
        return replace(state, next=certificates.authority(now, timedelta(seconds=validity.authority)))
    if is_due(state.serving, now) or not certificates.hosts(state.serving).issuperset(hosts):
        return replace(state, serving=_serving(state.current, hosts, now, validity))
    return state


def is_due(certificate: Certificate, now: datetime) -> bool:
    """Whether less than a third of the validity of a certificate is left."""
    start, end = certificates.start(certificate), certificates.expiry(certificate)
    return (end - now) < (end - start) / 3


def _all_hosts(hosts: Sequence[str], state: SecretState) -> list[str]:
    """Our hosts, and the hosts of other replicas that are in the certificate already: all replicas share it."""
    others = sorted(certificates.hosts(state.serving).difference(hosts))
    return [*hosts, *others[:_MAX_HOSTS]]


def _serving(authority: Certificate, hosts: Sequence[str], now: datetime, validity: Validity) -> Certificate:
    return certificates.issue(authority, hosts[0], now, names=hosts[1:], validity=timedelta(seconds=validity.serving))


def _since(certificate: Certificate, now: datetime) -> timedelta:
    return now - certificates.start(certificate)
