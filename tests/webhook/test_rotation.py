"""The rotation of the authority: at every step, every certificate in use is one that every client trusts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.http import certificates
from pilotage.webhook.certificates.rotation import SecretState, Validity, first_state, next_state

START = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("webhook-service.default.svc", "10.0.0.1")
VALIDITY = Validity(authority=timedelta(days=30), serving=timedelta(days=9), overlap=timedelta(hours=1))


def issuer_of(state: SecretState) -> bytes:
    """Which authority of the state has signed its serving certificate."""
    from cryptography import x509

    serving = x509.load_pem_x509_certificate(state.serving.certificate)
    known = {"previous": state.previous, "current": state.current.certificate}
    if state.next is not None:
        known["next"] = state.next.certificate
    for pem in known.values():
        if pem:
            try:
                serving.verify_directly_issued_by(x509.load_pem_x509_certificate(pem))
            except Exception:
                continue
            return pem
    raise AssertionError("no authority of the state has signed the certificate")


def test_the_first_state_has_a_certificate_for_all_hosts() -> None:
    state = first_state(HOSTS, START, VALIDITY)
    assert certificates.hosts(state.serving) >= {*HOSTS, "localhost", "127.0.0.1"}
    assert issuer_of(state) == state.bundle


def test_nothing_changes_before_a_third_of_the_time_is_left() -> None:
    state = first_state(HOSTS, START, VALIDITY)
    assert next_state(state, HOSTS, START + timedelta(days=5), VALIDITY, timedelta(days=5)) == state


def test_a_serving_certificate_is_renewed_by_the_same_authority() -> None:
    state = first_state(HOSTS, START, VALIDITY)
    later = next_state(state, HOSTS, START + timedelta(days=7), VALIDITY, timedelta(days=7))
    assert later.serving != state.serving
    assert (later.current, later.bundle) == (state.current, state.bundle)


def test_a_new_host_is_added_to_those_of_other_replicas() -> None:
    state = first_state(("10.0.0.1",), START, VALIDITY)
    later = next_state(state, ("10.0.0.2",), START, VALIDITY, None)
    assert certificates.hosts(later.serving) >= {"10.0.0.1", "10.0.0.2"}


@pytest.mark.parametrize("lag", [timedelta(0), timedelta(minutes=50), timedelta(hours=5)])
def test_no_certificate_is_served_before_its_authority_was_in_the_bundle_for_the_overlap(lag: timedelta) -> None:
    """Clients get a bundle `lag` after it was written; another replica is 50 minutes behind with its certificate."""
    validity = Validity(authority=timedelta(days=3), serving=timedelta(days=1), overlap=timedelta(hours=1))
    state, now = first_state(HOSTS, START, validity), START
    bundles, issuers = [(now, state.bundle)], [(now, issuer_of(state))]
    while now < START + timedelta(days=8):
        now += timedelta(minutes=30)
        arrived = bundles[-1][0] + lag
        before, state = state, next_state(state, HOSTS, now, validity, now - arrived if now >= arrived else None)
        if state == before:
            continue
        bundles.append((now, state.bundle))
        issuers.append((now, issuer_of(state)))
        trusted = at(now - lag, bundles)
        assert at(now, issuers) in trusted
        assert at(now - timedelta(minutes=50), issuers) in trusted
    assert len({issuer for _, issuer in issuers}) > 3
    assert len(certificates_in(state.bundle)) <= 2


def at(moment: datetime, changes: list[tuple[datetime, bytes]]) -> bytes:
    """The value at a moment; before all changes, the first."""
    return next((value for since, value in reversed(changes) if since <= moment), changes[0][1])


def certificates_in(bundle: bytes) -> list[bytes]:
    return [part for part in bundle.split(b"-----END CERTIFICATE-----") if part.strip()]


def test_an_expired_authority_is_made_again() -> None:
    state = first_state(HOSTS, START, VALIDITY)
    later = next_state(state, HOSTS, START + timedelta(days=31), VALIDITY, None)
    assert later.current != state.current
    assert later.previous == b""
