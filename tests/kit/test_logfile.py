"""Where the log of reconciles is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.cli import main
from pilotage.kit.recorded.logfile import LogFile, log_file_of
from tests.kit.tools import Console, Result, captured


@pytest.mark.parametrize(
    ("storage", "tenant", "expected"),
    [
        ("sqlite:a/todo.db", "default", "a/todo.db.log"),
        ("sqlite:a/todo.db", "team-a", "a/todo.db.team-a.log"),
        ("etcd://127.0.0.1:2379", "default", "/state/pilotage/logs/etcd-127.0.0.1_2379.log"),
        ("etcd://u:p@a:1,b:1/shop?ca=x", "team-a", "/state/pilotage/logs/etcd-a_1_b_1_shop.team-a.log"),
        ("memory:", "default", ""),
        ("", "default", ""),
    ],
)
def test_each_tenant_of_a_storage_has_a_file(
    storage: str, tenant: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert log_file_of(storage, tenant) == expected


def test_the_folder_of_the_log_is_created(tmp_path: Path) -> None:
    LogFile(f"{tmp_path}/pilotage/logs/etcd.log").write("{}\n")
    assert (tmp_path / "pilotage/logs/etcd.log").read_text() == "{}\n"


def test_the_log_of_a_tenant_is_not_shown_to_another_and_is_deleted_with_it(todo: Console, tmp_path: Path) -> None:
    create = ("create", "todo", "milk", "--set", "spec.text=secret")
    todo.output(*create, "--tenant", "team-a")
    todo.output(*create, "--no-reconcile")
    assert "secret" in todo.output("logs", "todo/milk", "--tenant", "team-a")
    assert todo.run("logs", "todo/milk") == Result(0, "", "No logs found for todo.todo.example.com/milk.\n")
    assert captured(lambda: main(["tenants", "delete", "team-a", "--storage", todo.tool.storage])).code == 0
    assert not list(tmp_path.glob("*.log*"))


def test_where_no_log_is_kept_the_error_names_where_one_is(todo: Console) -> None:
    ran = todo.run("logs", "todo/milk", "--storage", "memory:")
    assert ran.code == 1
    assert "is kept for a storage (--storage sqlite:PATH or etcd://HOST:PORT)" in ran.errors
