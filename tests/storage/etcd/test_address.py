from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from pilotage.errors import StorageError
from pilotage.grpc.dialer import Address
from pilotage.http.certificates import authority
from pilotage.storage.etcd.address import EtcdAddress, parse_address
from pilotage.storage.etcd.keys import Keys


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("etcd://a", EtcdAddress((Address("a", 2379),))),
        ("etcd://a:1,b,[::1]:2", EtcdAddress((Address("a", 1), Address("b", 2379), Address("::1", 2)))),
        ("etcd://a/", EtcdAddress((Address("a", 2379),))),
        ("etcd://a/b/c/", EtcdAddress((Address("a", 2379),), "/b/c/")),
        ("etcd://u:p%40%3A@a", EtcdAddress((Address("a", 2379),), user="u", password="p@:")),
        (
            "etcd://a?ca=x&cert=y&key=z&server-name=n",
            EtcdAddress((Address("a", 2379),), secure=True, ca="x", cert="y", key="z", server_name="n"),
        ),
        ("etcd://a?tls=true", EtcdAddress((Address("a", 2379),), secure=True)),
    ],
)
def test_an_address_is_read(url: str, address: EtcdAddress) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("etcd:a", "write etcd://HOST:PORT"),
        ("etcd://", "'' is not HOST:PORT"),
        ("etcd://a,", "'' is not HOST:PORT"),
        ("etcd://a:b", "'a:b' is not HOST:PORT"),
        ("etcd://a:99999", "is not HOST:PORT"),
        ("etcd://[::1", "is not .ADDRESS.:PORT"),
        ("etcd://a/b//c", "cannot be the prefix"),
        ("etcd://a?x=1", "unknown parameter 'x'; use one of ca, cert, key"),
        ("etcd://a?ca", "as NAME=VALUE&NAME=VALUE"),
        ("etcd://a?tls=1", "tls is true or false, not '1'"),
        ("etcd://a?key=k", "needs cert=FILE"),
    ],
)
def test_a_wrong_address_is_explained(url: str, complaint: str) -> None:
    with pytest.raises(StorageError, match=complaint):
        parse_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "etcd:/me:s3cret@h:1",
        "etcd://me:s3cret@h:99999",
        "etcd://me:s3/cret@h:1",
        "etcd://me:s3?cret@h:1",
        "etcd://me:s3?cret=1@h:1",
        "etcd://me:1?s3cret@h:1",
        "etcd://h/p?password=s3cret",
    ],
)
def test_the_error_of_a_wrong_address_has_no_part_of_a_password(url: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_address(url)
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_the_password_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_ETCD_PASSWORD", "hidden")
    address = parse_address("etcd://user@a")
    assert address.password == "hidden"
    assert "hidden" not in str(address)
    assert "hidden" not in repr(address)


def test_a_missing_certificate_is_named() -> None:
    with pytest.raises(StorageError, match=r"cannot be read from /missing\.crt: .*No such file"):
        parse_address("etcd://a?ca=/missing.crt").ssl()


def test_an_encrypted_key_is_an_error_and_nothing_asks_for_its_password(tmp_path: Path) -> None:
    pair = authority(datetime.now(UTC))
    encryption = BestAvailableEncryption(b"secret")
    key = load_pem_private_key(pair.key, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(key)
    with pytest.raises(StorageError, match="the key is encrypted, and its password cannot be entered here"):
        parse_address(f"etcd://a?cert={tmp_path}/tls.crt&key={tmp_path}/tls.key").ssl()


@pytest.mark.parametrize("key", ["/default/core/pods/a", "a", "/", "//a", "/\0a", "\0a", "é", "\0"])
def test_each_key_has_one_place_in_etcd(key: str) -> None:
    keys = Keys("/pilotage/")
    assert keys.decoded(keys.encoded(key)) == key
    assert keys.start < keys.encoded(key) < keys.end or key == "/"


def test_keys_of_the_api_server_are_readable_in_etcd() -> None:
    assert Keys("/pilotage/").encoded("/default/core/pods/a") == b"/pilotage/default/core/pods/a"


def test_an_error_does_not_show_the_password() -> None:
    with pytest.raises(StorageError) as caught:
        parse_address("etcd://root:hunter2@host:port")
    assert "hunter2" not in str(caught.value)
