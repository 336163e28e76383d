"""`pilotage tenants`: lists the tenants of a storage, and deletes one with all its objects."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli import main
from pilotage.storage import open_storage
from pilotage.types.core.v1 import ConfigMap


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'shared.db'}"
    for tenant in ("team-b", "team-a"):
        with pt.LightCluster(url, tenant=tenant) as cluster:
            cluster.run(cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default"))))
    return url


def test_tenants_are_listed_and_deleted(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenants", "list", "--storage", url]) == 0
    assert capsys.readouterr().out == "team-a\nteam-b\n"
    credentials = tmp_path / "shared.db-credentials-team-a"
    credentials.write_text("a later tenant of the name must not accept this token")
    assert main(["tenants", "delete", "team-a", "--storage", url]) == 0
    assert not credentials.exists()
    assert "tenant team-a deleted (" in capsys.readouterr().out
    assert main(["tenants", "list", "--storage", url]) == 0
    assert capsys.readouterr().out == "team-b\n"


def test_what_does_not_exist_is_an_error(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenants", "delete", "team-c", "--storage", url]) == 1
    assert "has no tenant team-c; see pilotage tenants list" in capsys.readouterr().err
    assert main(["tenants", "delete", "Team/C", "--storage", url]) == 1
    assert "invalid tenant" in capsys.readouterr().err
    assert main(["tenants", "list", "--storage", f"sqlite:{tmp_path / 'typo.db'}"]) == 1
    assert "typo.db; `pilotage create`" in capsys.readouterr().err
    assert not (tmp_path / "typo.db").exists()


async def test_versions_go_on_after_a_tenant_and_the_file_were_removed(url: str, tmp_path: Path) -> None:
    """A run that continues from a version of a removed tenant gets its deletions, and never old versions again."""

    async def create(name: str) -> int:
        async with pt.Cluster.embedded(url, tenant="team-a") as cluster:
            made = await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default")))
        return int(made.metadata.resource_version)

    seen = await create("b")
    storage = await open_storage(url)
    await pt.cluster.delete_tenant(storage, "team-a")
    await storage.close()
    later = await create("a")
    assert later > seen
    events: list[tuple[str, str]] = []
    async with pt.Cluster.embedded(url, tenant="team-a") as cluster:
        client = cluster.client.with_namespace("default")
        async with client.watch(ConfigMap, resource_version=str(seen)) as watch:
            while len(events) < 3:
                event = await anext(watch)
                events.append((event.type, event.object.metadata.name))
    assert events == [("DELETED", "a"), ("DELETED", "b"), ("ADDED", "a")]
    os.unlink(tmp_path / "shared.db")
    assert await create("a") > later
