from __future__ import annotations

import base64
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.errors import StorageBroken, StorageError
from pilotage.meta.scalars.times import system_clock
from pilotage.server.access.serviceaccounts import KEY, ServiceAccountTokens
from pilotage.server.cleartext import CleartextCheck
from pilotage.server.encryption import is_secret
from pilotage.storage import Put, Storage
from pilotage.storage.encryption import MARK, Cipher, EncryptedStorage
from pilotage.storage.memory import MemoryStorage
from pilotage.types.core.v1 import ConfigMap, Secret

REFUSED = r"has encrypted Secrets: give the keys \(--encryption-keys, encryption_keys=\)"


def _secret(name: str) -> Secret:
    return Secret(metadata=pt.ObjectMeta(name=name, namespace="default"), string_data={"x": "plain"})


@pytest.fixture
def keys(tmp_path: Path) -> str:
    (tmp_path / "keys").write_text(f"key1:{base64.b64encode(bytes(range(32))).decode()}\n")
    return str(tmp_path / "keys")


async def test_a_secret_is_not_stored_in_clear_beside_encrypted_ones(keys: str) -> None:
    storage = MemoryStorage()
    async with pt.Cluster.embedded(storage) as cluster:
        old = await cluster.client.create(_secret("a"))  # before there were keys
    async with pt.Cluster.embedded(storage, encryption_keys=keys) as cluster:
        await cluster.client.create(_secret("b"))
    async with pt.Cluster.embedded(storage) as cluster:
        before = storage.revision
        with pytest.raises(StorageError, match=REFUSED):
            await cluster.client.create(_secret("c"))
        old.immutable = True
        with pytest.raises(StorageError, match=REFUSED):
            await cluster.client.update(old)
        assert storage.revision == before
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="c", namespace="default")))
        await cluster.client.delete(old)


async def test_the_encrypted_secrets_of_another_tenant_do_not_matter(keys: str) -> None:
    storage = MemoryStorage()
    async with pt.Cluster.embedded(storage, tenant="one", encryption_keys=keys) as cluster:
        await cluster.client.create(_secret("a"))
    async with pt.Cluster.embedded(storage, tenant="two") as cluster:
        await cluster.client.create(_secret("a"))


def test_a_light_cluster_stores_no_secret_in_clear_beside_encrypted_ones(keys: str, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/a.db"
    with pt.LightCluster(url, encryption_keys=keys) as cluster:
        cluster.run(cluster.client.create(_secret("a")))
    with pt.LightCluster(url) as cluster, pytest.raises(StorageError, match=REFUSED):
        cluster.run(cluster.client.create(_secret("b")))


async def test_the_first_look_finds_an_encrypted_secret_behind_many_clear_ones() -> None:
    storage = MemoryStorage()
    await storage.commit(*(Put(f"/t/core/secrets/n/a{number}", b"{}") for number in range(300)))
    await _encrypted(storage).commit(Put("/t/core/secrets/n/b", b"{}"))
    with pytest.raises(StorageError, match=REFUSED):
        await CleartextCheck(storage, "/t/").check()


async def test_a_secret_that_another_program_encrypts_later_is_seen() -> None:
    storage = MemoryStorage()
    check = CleartextCheck(storage, "/t/")
    await check.check()
    await _encrypted(storage).commit(Put("/t/core/secrets/n/a", b"{}"))
    with pytest.raises(StorageError, match=REFUSED):
        await check.check()


async def test_with_keys_a_secret_is_written_also_where_others_need_a_lost_key() -> None:
    storage = MemoryStorage()
    await _encrypted(storage).commit(Put("/t/core/secrets/n/a", b"{}"))
    await CleartextCheck(EncryptedStorage(storage, Cipher({"two": b"2" * 32}), is_secret), "/t/").check()


async def test_the_key_of_service_account_tokens_is_not_used_while_it_is_encrypted() -> None:
    storage = MemoryStorage()
    await storage.commit(Put(f"/default/{KEY}", MARK + b"first:ciphertext"))
    with pytest.raises(StorageBroken, match="encrypted with the key 'first': give the keys"):
        await ServiceAccountTokens(storage, "/default/", system_clock).user_of("a.b.c")


def _encrypted(storage: Storage) -> EncryptedStorage:
    return EncryptedStorage(storage, Cipher({"one": b"1" * 32}), is_secret)
