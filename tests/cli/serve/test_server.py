"""`pilotage serve` as a process: what it prints, which files it leaves, and how it fails."""

from __future__ import annotations

import fcntl
import signal
import socket
from pathlib import Path

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, ServiceAccount

from ... import forked
from .processes import command, failure, serving


def test_it_prints_where_it_serves_and_what_to_try(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        assert running.lines[0] == f"serving memory: at {running.url}; press Ctrl-C to stop\n"
        assert running.lines[1] == "try: kubectl --kubeconfig pilotage.kubeconfig get namespaces\n"
        assert running.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_ctrl_c_ends_it_well(tmp_path: Path) -> None:
    with serving(tmp_path, stop=signal.SIGINT):
        pass


async def test_what_was_stored_is_there_after_a_restart_and_for_its_tenant_alone(tmp_path: Path) -> None:
    storage = ("--storage", "sqlite:state.db")
    with serving(tmp_path, *storage) as running:
        async with running.cluster() as cluster:
            meta = ObjectMeta(name="settings", namespace="default")
            await cluster.client.create(ConfigMap(metadata=meta, data={"colour": "red"}))
    with serving(tmp_path, *storage) as running:
        async with running.cluster() as cluster:
            assert (await cluster.client.get(ConfigMap, "settings", namespace="default")).data == {"colour": "red"}
    with serving(tmp_path, *storage, "--tenant", "other") as running:
        async with running.cluster() as cluster:
            assert await cluster.client.find(ConfigMap, "settings", namespace="default") is None


def test_a_port_that_is_taken_is_named_and_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert failure(tmp_path, "--bind", place) == (
            f"cannot listen on {place}: Address already in use; stop the process that uses it,"
            " or give another address with --bind (port 0 selects a free port)"
        )
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_another_machine_cannot_be_listened_on(tmp_path: Path) -> None:
    assert failure(tmp_path, "--bind", "240.0.0.1:0").startswith("cannot listen on 240.0.0.1:0: Cannot assign")


def test_a_storage_that_does_not_exist_in_this_form_is_refused(tmp_path: Path) -> None:
    assert "use memory:, sqlite:PATH" in failure(tmp_path, "--storage", "postgres:x")


def test_a_storage_in_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = failure(tmp_path, "--storage", "sqlite:file/state.db")
    assert line == f"file/state.db cannot be opened: {tmp_path}/file: Not a directory"


def test_a_file_of_another_program_is_refused_and_so_left_alone_is_its_folder(tmp_path: Path) -> None:
    (tmp_path / "passwd").write_bytes(b"root:x:0:0:root:/root:/bin/bash\n")
    line = failure(tmp_path, "--storage", "sqlite:passwd")
    assert line == (
        f"{tmp_path}/passwd is not a storage of Pilotage: it begins with b'root:x:0:0:root:' and not as a SQLite file"
        " does. Nothing was changed in it: choose another path"
    )
    assert (tmp_path / "passwd").read_bytes() == b"root:x:0:0:root:/root:/bin/bash\n"
    assert [path.name for path in tmp_path.iterdir()] == ["passwd"]


def test_a_storage_whose_lock_is_held_is_refused_after_a_while(tmp_path: Path) -> None:
    impatient = "import pilotage.storage.sqlite.lock as lock; lock.LOCK_TIMEOUT = 0"
    with (tmp_path / "state.db-lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        line = failure(tmp_path, "--storage", "sqlite:state.db", before=impatient)
    assert line.startswith(f"{tmp_path}/state.db-lock: another process has held the lock")


def test_the_folder_of_the_kubeconfig_must_be_there(tmp_path: Path) -> None:
    line = failure(tmp_path, "--kubeconfig", "nowhere/config", "--storage", "sqlite:state.db")
    assert line == "cannot write the kubeconfig to nowhere/config: directory nowhere does not exist"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_place_for_a_kubeconfig(tmp_path: Path) -> None:
    assert failure(tmp_path, "--kubeconfig", ".").endswith("it is a directory; give the path of a file")


def test_the_kubeconfig_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("apiVersion: v1\nkind: Config\n")
    assert "give another path with --kubeconfig" in failure(tmp_path, "--kubeconfig", "config")
    assert (tmp_path / "config").read_text() == "apiVersion: v1\nkind: Config\n"


def test_the_extra_that_it_needs_is_named(tmp_path: Path) -> None:
    line = failure(tmp_path, before="sys.modules['cryptography'] = None")
    assert line.endswith("needs an optional dependency: pip install 'pilotage[serve]'")


@pytest.mark.parametrize("bind", ["nonsense", "127.0.0.1:80x", "127.0.0.1:65536", "::1", "::1:80", "127.0.0.1:٣"])
def test_an_address_that_cannot_be_read_is_wrong_usage(bind: str, capsys: pytest.CaptureFixture[str]) -> None:
    from pilotage.cli import main

    with pytest.raises(SystemExit) as raised:
        main(["serve", "--bind", bind])
    assert raised.value.code == 2
    assert f"argument --bind: {bind!r} is not HOST:PORT" in capsys.readouterr().err


def test_an_unknown_controller_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    ran = forked.run(*command(""), "127.0.0.1:0", "--controllers=*,-deployment-controller", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the server runs no controller 'deployment-controller'; give * for all, or of these: " in ran.stderr
    assert "garbage-collector-controller (garbagecollector)" in ran.stderr


async def test_a_controller_that_is_turned_off_does_not_run(tmp_path: Path) -> None:
    with serving(tmp_path, "--controllers=*,-serviceaccount,-root-ca-cert-publisher") as running:
        async with running.cluster() as cluster:
            assert not await cluster.client.list(ServiceAccount)
            assert await cluster.client.find(ConfigMap, "kube-root-ca.crt", namespace="default") is None
