"""A certificate in files that another program renews."""

from __future__ import annotations

import asyncio
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

import pilotage as pt
from pilotage.http import certificates
from pilotage.http.certificates import Certificate
from pilotage.webhook.certificates.files import ERRORS, READS


def issue(folder: Path) -> Certificate:
    """Write a new pair, as a kubelet writes a mounted Secret: into a folder of its own, which then takes its place."""
    pair = certificates.self_signed("localhost")
    folder.mkdir(exist_ok=True)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return pair


@pytest.mark.covers("T184")
async def test_missing_files_are_an_error_that_names_them(tmp_path: Path) -> None:
    errors = ERRORS.labels().value
    with pytest.raises(pt.errors.NoCredentials, match=r"tls\.crt and .*tls\.key: .*No such file"):
        await pt.webhook.CertificateFiles(tmp_path).open()
    assert ERRORS.labels().value == errors + 1


async def test_an_encrypted_key_is_an_error_and_nothing_asks_for_its_password(tmp_path: Path) -> None:
    key = load_pem_private_key(issue(tmp_path).key, None)
    encryption = BestAvailableEncryption(b"secret")
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    (tmp_path / "tls.key").write_bytes(encrypted)
    with pytest.raises(pt.errors.NoCredentials, match="the key is encrypted, and its password cannot be entered here"):
        await pt.webhook.CertificateFiles(tmp_path).open()


@pytest.mark.covers("T184")
async def test_files_are_read_at_the_start_and_counted(tmp_path: Path) -> None:
    reads = READS.labels().value
    pair, files = issue(tmp_path), pt.webhook.CertificateFiles(tmp_path)
    await files.open()
    assert (files.certificate, files.bundle) == (pair, b"")
    assert READS.labels().value == reads + 1


@pytest.mark.covers("T184")
async def test_a_new_pair_is_used_after_a_write_a_swap_and_a_move(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    issue(folder)
    files = pt.webhook.CertificateFiles(folder)
    await files.open()
    assert not files.reread()
    written = issue(folder)
    assert files.reread()
    assert files.certificate == written
    swapped = issue(tmp_path / "new")
    shutil.rmtree(folder)
    (tmp_path / "new").rename(folder)
    assert files.reread()
    assert files.certificate == swapped
    folder.rename(tmp_path / "away")
    assert not files.reread()
    assert files.certificate == swapped, "a missing file does not count"
    issue(folder)
    assert files.reread()


@pytest.mark.covers("T184", "F30")
async def test_a_swapped_link_is_noticed_as_a_kubelet_swaps_it(tmp_path: Path) -> None:
    issue(tmp_path / "first")
    second = issue(tmp_path / "second")
    (tmp_path / "data").symlink_to("first")
    files = pt.webhook.CertificateFiles(tmp_path / "data")
    await files.open()
    (tmp_path / "new").symlink_to("second")
    (tmp_path / "new").rename(tmp_path / "data")
    assert files.reread()
    assert files.certificate == second


@pytest.mark.covers("T184", "F30")
async def test_a_pair_that_does_not_match_is_not_used(tmp_path: Path) -> None:
    pair, files = issue(tmp_path), pt.webhook.CertificateFiles(tmp_path)
    await files.open()
    (tmp_path / "tls.crt").write_bytes(certificates.self_signed("localhost").certificate)
    assert not files.reread()
    assert files.certificate == pair


@pytest.mark.covers("T184")
@pytest.mark.virtual_time
async def test_a_change_is_reported(tmp_path: Path) -> None:
    issue(tmp_path)
    files, changed = pt.webhook.CertificateFiles(tmp_path), asyncio.Event()
    await files.open()
    running = asyncio.ensure_future(files.run(changed.set))
    pair = issue(tmp_path)
    await changed.wait()
    assert files.certificate == pair
    running.cancel()


@pytest.mark.covers("T184")
def test_every_replica_watches_the_files() -> None:
    assert pt.webhook.WebhookServer.needs_leader_election is False


def test_a_certificate_can_be_issued_for_names_and_addresses() -> None:
    now = datetime.now(UTC)
    pair = certificates.issue(certificates.authority(now), "a.default.svc", now, names=("10.0.0.1",))
    assert certificates.hosts(pair) == {"localhost", "a.default.svc", "10.0.0.1", "127.0.0.1", "::1"}
    assert abs(certificates.start(pair) - now).total_seconds() < 1
