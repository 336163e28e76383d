"""Credentials replaced in every way in which files are replaced: the old ones are used until the new ones are whole."""

from __future__ import annotations

import os
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.client.config import Config
from pilotage.client.credentials.credentials import REREAD_SECONDS, ClientCertificate, TokenFile
from pilotage.client.credentials.trust import Trust
from pilotage.http import certificates
from pilotage.webhook.certificates import files as webhook_files

Files = Mapping[str, bytes]


# Ways to replace files. Each stops where a reader may look, with files that are not, or not all, the new ones.


def by_rename(folder: Path, files: Files) -> Iterator[None]:
    for name, data in files.items():
        (folder / "new").write_bytes(data)
        os.replace(folder / "new", folder / name)
        yield


def by_writing_in_place(folder: Path, files: Files) -> Iterator[None]:
    for name, data in files.items():
        with (folder / name).open("wb") as file:
            yield  # it is empty
            file.write(data[: len(data) // 2])
            file.flush()
            yield
            file.write(data[len(data) // 2 :])


def by_delete_and_create(folder: Path, files: Files) -> Iterator[None]:
    for name in files:
        (folder / name).unlink()
        yield
    for name, data in files.items():
        (folder / name).write_bytes(data)
        yield


def by_symlink(folder: Path, files: Files) -> Iterator[None]:
    """As a kubelet does it: the files are links through `..data`, which is replaced as a whole."""
    (folder / "..2").mkdir()
    for name, data in files.items():
        (folder / "..2" / name).write_bytes(data)
        yield
    (folder / "..data_tmp").symlink_to("..2")
    yield
    os.replace(folder / "..data_tmp", folder / "..data")


WAYS = [by_rename, by_writing_in_place, by_delete_and_create, by_symlink]


class Material(ABC):
    """Something that reads files again by itself: which of two generations it uses now."""

    def __init__(self) -> None:
        self.now = 1000.0

    @abstractmethod
    def files(self, generation: int) -> Files: ...

    @abstractmethod
    def open(self, folder: Path) -> None: ...

    @abstractmethod
    async def used(self) -> int: ...


class Token(Material):
    def files(self, generation: int) -> Files:
        return {"token": f"{generation}".encode() * 40}

    def open(self, folder: Path) -> None:
        self._file = TokenFile(str(folder / "token"), clock=lambda: self.now)

    async def used(self) -> int:
        token = (await self._file.material()).token
        return int(token[0])


class CertificateFolder(Material):
    """A CA and a client certificate."""

    def __init__(self) -> None:
        super().__init__()
        self._pairs = [certificates.self_signed(f"client-{number}") for number in range(3)]
        self._generation = 0

    def files(self, generation: int) -> Files:
        pair = self._pairs[generation]
        return {"ca.crt": pair.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}

    def open(self, folder: Path) -> None:
        self._trust = Trust(Config("https://a", ca_file=str(folder / "ca.crt")), clock=lambda: self.now)
        self._certificate = ClientCertificate(str(folder / "tls.crt"), str(folder / "tls.key"))

    async def used(self) -> int:
        context = self._trust.renew(self._certificate)
        if context is not None:
            self._generation = next(
                number for number, pair in enumerate(self._pairs) if _trusts(context, pair.certificate)
            )
        return self._generation


def _trusts(context: ssl.SSLContext, pem: bytes) -> bool:
    return ssl.PEM_cert_to_DER_cert(pem.decode()) in context.get_ca_certs(binary_form=True)


class WebhookCertificate(CertificateFolder):
    def open(self, folder: Path) -> None:
        self._files = pt.webhook.CertificateFiles(folder)
        self._opened = False

    async def used(self) -> int:
        if not self._opened:
            await self._files.open()
            self._opened = True
        else:
            self._files.reread()
        return self._pairs.index(self._files.certificate)


@pytest.mark.covers("F30")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("kind", [Token, CertificateFolder, WebhookCertificate])
async def test_the_old_ones_are_used_until_the_new_ones_are_whole_and_then_within_ten_seconds(
    kind: type[Material], way: Callable[[Path, Files], Iterator[None]], tmp_path: Path
) -> None:
    material = kind()
    (tmp_path / "..1").mkdir()
    (tmp_path / "..data").symlink_to("..1")
    for name, data in material.files(1).items():
        (tmp_path / "..1" / name).write_bytes(data)
        (tmp_path / name).symlink_to(f"..data/{name}")
    material.open(tmp_path)
    assert await material.used() == 1
    last = 1
    for _ in way(tmp_path, material.files(2)):
        material.now += REREAD_SECONDS
        used = await material.used()
        assert used in (last, 2)
        last = used
    material.now += REREAD_SECONDS
    assert await material.used() == 2


def test_files_are_read_again_within_ten_seconds() -> None:
    assert REREAD_SECONDS <= 10
    assert webhook_files.REREAD_SECONDS <= 10
