"""The file in which `pilotage serve` stores its certificate authority and its token."""

from __future__ import annotations

import asyncio
import os
import ssl
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pilotage.cli.serve.certificate import RENEWAL_CHECK_SECONDS, ServingCertificate
from pilotage.cli.serve.credentials import ServerCredentials, default_path, load_or_create
from pilotage.kit.console.errors import CommandError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_they_are_the_same_at_the_next_start_and_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first = load_or_create(tmp_path / "credentials")
    finally:
        os.umask(before)
    assert load_or_create(tmp_path / "credentials") == first
    assert stat.S_IMODE((tmp_path / "credentials").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["credentials"]


def test_without_a_file_they_are_new_at_each_start() -> None:
    assert load_or_create(None).token != load_or_create(None).token


def test_servers_that_start_at_the_same_time_have_the_same_ones(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def start(_: int) -> ServerCredentials:
        barrier.wait()
        return load_or_create(tmp_path / "credentials")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(start, range(8)))
    assert all(each == found[0] for each in found)


def test_they_lie_beside_the_file_of_the_storage_for_each_tenant_apart(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "state.db")
    storage = f"sqlite:{tmp_path}/link.db"
    assert default_path(storage, "default") == tmp_path / "state.db-credentials"
    assert default_path(storage, "other") == tmp_path / "state.db-credentials-other"
    assert default_path("memory:", "default") is None


def test_a_file_that_other_users_can_read_is_refused(tmp_path: Path) -> None:
    load_or_create(tmp_path / "credentials")
    (tmp_path / "credentials").chmod(0o640)
    with pytest.raises(CommandError, match=r"other users have access to it \(mode 0640\); run: chmod 600"):
        load_or_create(tmp_path / "credentials")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Expecting value"),
        ("[]", "list indices"),
        ("{}", "it has no 'format'"),
        ('{"format": "other"}', "its format is 'other'"),
        ('{"format": "pilotage-serve-credentials-v1", "certificate": "x", "key": "y", "token": "z"}', "PEM"),
    ],
)
def test_a_file_of_other_content_is_refused_and_left_alone(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "credentials"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(CommandError, match="does not contain credentials") as raised:
        load_or_create(path)
    assert complaint in str(raised.value)
    assert path.read_text() == text


def test_a_place_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CommandError, match="it is not a regular file"):
        load_or_create(tmp_path / "fifo")
    with pytest.raises(CommandError, match=r"Is a directory|it is not a regular file"):
        load_or_create(tmp_path)
    with pytest.raises(CommandError, match="No such file or directory"):
        load_or_create(tmp_path / "nowhere" / "credentials")


def test_an_authority_that_has_ended_is_named_with_what_to_do(tmp_path: Path) -> None:
    load_or_create(tmp_path / "credentials", lambda: NOW)
    with pytest.raises(CommandError, match=r"expired on 2035-12-30; delete the file"):
        load_or_create(tmp_path / "credentials", lambda: NOW + timedelta(days=3651))


@pytest.mark.virtual_time
async def test_the_servers_certificate_is_renewed_before_it_ends_and_trusted_as_before() -> None:
    begun = asyncio.get_running_loop().time()

    def clock() -> datetime:
        return NOW + timedelta(seconds=asyncio.get_running_loop().time() - begun)

    credentials = load_or_create(None, clock)
    certificate = ServingCertificate(credentials, "127.0.0.1", clock)
    first = shown(certificate.context)
    async with certificate.renewal():
        await asyncio.sleep(243 * 86400)
        assert shown(certificate.context) == first
        await asyncio.sleep(86400 + RENEWAL_CHECK_SECONDS)
        second = shown(certificate.context)
    assert second != first
    certificate_of(second, credentials)


def shown(context: ssl.SSLContext) -> bytes:
    """The certificate that a client receives, in DER."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = trusting.wrap_bio(to_client, to_server)
    for side in (client, server, client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    found = client.getpeercert(binary_form=True)
    assert found is not None
    return found


def certificate_of(der: bytes, credentials: ServerCredentials) -> None:
    """Check that the authority of the credentials has issued the certificate."""
    from cryptography import x509

    authority = x509.load_pem_x509_certificate(credentials.authority.certificate)
    x509.load_der_x509_certificate(der).verify_directly_issued_by(authority)
