"""`pilotage tenants`: lists the tenants of a storage, and deletes one whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli import main
from pilotage.types.core.v1 import ConfigMap


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path / 'shared.db'}"
    for tenant in ("team-b", "team-a"):
        with pt.LightCluster(url, tenant=tenant) as cluster:
            cluster.run(cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default"))))
    return url


def test_tenants_are_listed_and_deleted(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenants", "list", "--storage", url]) == 0
    assert capsys.readouterr().out == "team-a\nteam-b\n"
    assert main(["tenants", "delete", "team-a", "--storage", url]) == 0
    assert "tenant team-a deleted (" in capsys.readouterr().out
    assert main(["tenants", "list", "--storage", url]) == 0
    assert capsys.readouterr().out == "team-b\n"


def test_what_does_not_exist_is_an_error(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenants", "delete", "team-c", "--storage", url]) == 1
    assert "has no tenant team-c; see pilotage tenants list" in capsys.readouterr().err
    assert main(["tenants", "delete", "Team/C", "--storage", url]) == 1
    assert "invalid tenant" in capsys.readouterr().err
    assert main(["tenants", "list", "--storage", f"sqlite:{tmp_path / 'typo.db'}"]) == 1
    assert "typo.db does not exist" in capsys.readouterr().err
    assert not (tmp_path / "typo.db").exists()
