"""`pilotage store`, as a person uses it."""

from __future__ import annotations

import hashlib
import os
from base64 import b64encode
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from pilotage.cli import main
from pilotage.cluster.light import run_now
from pilotage.errors import StorageError
from pilotage.kit.store import commands
from pilotage.storage import Put, Storage
from pilotage.storage.sqlite import DirectSqliteStorage
from pilotage.storage.sqlite.log import Log

OBJECTS = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: team}
spec: {a: 1}
status: {b: 2}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: team}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "objects.yaml").write_text(OBJECTS)
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"{name}:{b64encode(os.urandom(32)).decode()}\n")
    (tmp_path / "both").write_text((tmp_path / "two").read_text() + (tmp_path / "one").read_text())
    return tmp_path


def _store(*words: str) -> None:
    assert main(["store", *words]) == 0


def test_objects_are_imported_backed_up_restored_and_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml", "--encryption-keys", "one")
    assert b"hunter2" not in b"".join(path.read_bytes() for path in folder.glob("a.db*"))
    _store("check", "sqlite:a.db", "--encryption-keys", "one")
    _store("backup", "sqlite:a.db", "a.backup")
    assert (folder / "a.backup").stat().st_mode & 0o777 == 0o600
    _store("restore", "a.backup", "sqlite:b.db")
    _store("rotate-keys", "sqlite:b.db", "--encryption-keys", "both")
    capsys.readouterr()
    _store("export", "sqlite:b.db", "--encryption-keys", "two")
    exported = capsys.readouterr().out
    kinds = [line.removeprefix("kind: ") for line in exported.splitlines() if line.startswith("kind: ")]
    assert kinds == ["CustomResourceDefinition", "Namespace", "Secret", "Widget"]
    assert b64encode(b"hunter2").decode() in exported
    assert "b: 2" in exported
    assert "uid" not in exported
    (folder / "again.yaml").write_text(exported)
    _store("import", "sqlite:c.db", "again.yaml")
    capsys.readouterr()
    _store("export", "sqlite:c.db")
    assert capsys.readouterr().out == exported


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["backup", "sqlite:missing.db", "a"], "there is no storage sqlite:missing.db"),
        (["backup", "sqlite:missing.db", "-"], "a backup is written to a file and not to standard output"),
        (["check", "memory:"], "belongs to its program"),
        (["restore", "missing", "memory:"], "belongs to its program"),
        (["import", "memory:", "objects.yaml"], "belongs to its program"),
        (["restore", "missing", "sqlite:a.db"], "cannot read missing: No such file"),
        (["restore", "objects.yaml", "sqlite:a.db"], "objects.yaml is not an archive of a storage"),
        (["shrink", "etcd://a:1"], "etcdctl defrag"),
        (["import", "sqlite:a.db", "missing.yaml"], 'the path "missing.yaml" does not exist'),
        (["import", "sqlite:a.db", "objects.yaml", "--encryption-keys", "missing"], "keys cannot be read from missing"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", *words]) == 1
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_a_backup_is_durable_with_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    _store("backup", "sqlite:a.db", "a.backup")
    assert synced[-2:] == [(folder / "a.backup").stat().st_ino, folder.stat().st_ino]


def test_a_restore_that_fails_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _store("backup", "sqlite:a.db", "a.backup")

    async def fail(storage: Storage, *_: object) -> None:
        await storage.commit(Put("a", b""))
        assert not (folder / "b.db").exists()
        raise StorageError("no space is left")

    monkeypatch.setattr(commands, "restore_archive", fail)
    assert main(["store", "restore", "a.backup", "sqlite:b.db"]) == 1
    assert not list(folder.glob("b.db-restore*")) + list(folder.glob("b.db"))


def test_a_backup_that_fails_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")

    async def fail(*_: object) -> None:
        raise StorageError("no member answers")

    monkeypatch.setattr(commands, "write_archive", fail)
    assert main(["store", "backup", "sqlite:a.db", "a.backup"]) == 1
    assert not (folder / "a.backup").exists()


def test_an_object_with_the_name_of_a_builtin_one_is_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: kubernetes, namespace: team, finalizers: [a.b/c]}\n"
    (folder / "more.yaml").write_text(service + "spec: {ports: [{port: 1}]}\n")
    _store("import", "sqlite:a.db", "objects.yaml", "more.yaml")
    capsys.readouterr()
    _store("export", "sqlite:a.db")
    kinds = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kind: ")]
    assert "kind: Service" in kinds


def test_objects_of_a_person_are_exported_from_the_places_of_the_system(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "more.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: kube-system}\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:mine'}\n"
    )
    _store("import", "sqlite:a.db", "more.yaml")
    capsys.readouterr()
    _store("export", "sqlite:a.db")
    names = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  name: ")]
    assert names == ["  name: mine", "  name: system:mine"]


@pytest.mark.parametrize("more", [[], ["--skip-damaged"]])
def test_an_export_of_a_tenant_that_does_not_exist_is_an_error_and_creates_none(
    more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml", "--tenant", "team")
    assert main(["store", "export", "sqlite:a.db", "--tenant", "tema", *more]) != 0
    assert 'there is no tenant "tema"; there are: team' in capsys.readouterr().err
    _store("export", "sqlite:a.db", *more)  # of the default tenant, which is empty at first
    assert capsys.readouterr().out == ""
    assert main(["tenants", "list", "--storage", "sqlite:a.db"]) == 0
    assert capsys.readouterr().out == "team\n"


def test_a_restore_repeats_no_revision_in_a_file_that_exists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _store("backup", "sqlite:a.db", "a.backup")
    DirectSqliteStorage("new.db").close_now()
    capsys.readouterr()
    assert main(["store", "restore", "a.backup", "sqlite:new.db"]) == 1
    assert "resource versions would appear twice; restore into a new file" in capsys.readouterr().err
    (folder / "new.db").write_bytes(b"")
    (folder / "new.db-lock").unlink()
    _store("restore", "a.backup", "sqlite:new.db")


def test_a_check_without_the_keys_does_not_miss_the_owners_that_it_cannot_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ("--storage", "sqlite:a.db", "--encryption-keys", "one")
    _store("import", "sqlite:a.db", "objects.yaml", "--encryption-keys", "one")
    capsys.readouterr()
    assert main(["get", "secret", "s", "-n", "team", "-o", "jsonpath={.metadata.uid}", *keys]) == 0
    owner = f"{{apiVersion: v1, kind: Secret, name: s, uid: {capsys.readouterr().out}}}"
    (folder / "more.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: team, ownerReferences: [{owner}]}}\n"
    )
    assert main(["create", "-f", "more.yaml", *keys]) == 0
    _store("check", "sqlite:a.db")
    _store("check", "sqlite:a.db", "--encryption-keys", "one")
    capsys.readouterr()
    assert main(["store", "check", "sqlite:a.db", "--encryption-keys", "two"]) == 1
    (problem,) = capsys.readouterr().out.splitlines()
    assert "is encrypted with the key 'one', which is not given" in problem


def test_without_its_key_a_secret_is_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml", "--encryption-keys", "one")
    capsys.readouterr()
    assert main(["store", "export", "sqlite:a.db"]) == 1
    assert "encrypted with the key 'one': give the keys (--encryption-keys)" in capsys.readouterr().err


def test_a_check_names_every_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _damage(str(folder / "a.db"))
    capsys.readouterr()
    assert main(["store", "check", "sqlite:a.db"]) == 1
    captured = capsys.readouterr()
    assert "/default/core/configmaps/nowhere/a: metadata.name is 'b', and the key has 'a'" in captured.out
    assert "/default/core/configmaps/nowhere/c: the namespace nowhere does not exist" in captured.out
    assert "/default/core/configmaps/nowhere/d: it is not an object" in captured.out
    assert "/default/core/configmaps/nowhere/e: it is not an object: Expected `array`, got `str`" in captured.out
    assert "4 problems in" in captured.err


def _damage(path: str, names: str = "acde") -> None:
    """Objects that no server would store, with right checksums."""
    from pilotage.storage.interface import Entry, Event
    from pilotage.storage.sqlite.replay import rows_of

    place = "/default/core/configmaps/nowhere/"
    metadata = b'{"namespace":"nowhere","uid":"%s","creationTimestamp":"2026-01-02T03:04:05Z","name":"%s"}'
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":' + metadata + b"}"
    wrong = (head % (b"3", b"e")).replace(b'"uid"', b'"ownerReferences":"x","uid"')
    values = {"a": head % (b"1", b"b"), "c": head % (b"2", b"c"), "d": b"{", "e": wrong}
    log = Log(path)
    with log.transaction(write=True):
        replay = log.replay(after=0, oldest=log.oldest)
        revision = replay.commits[-1][0].revision + 1
        events = tuple(
            Event(place + name, revision, Entry(place + name, value, revision, revision), None)
            for name, value in values.items()
            if name in names
        )
        log.insert(rows_of([events]))
    log.close(tidy=True)


def test_a_file_shrinks_when_its_data_is_gone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    from pilotage.storage import Delete, Put, open_storage

    async def fill() -> None:
        storage = await open_storage("sqlite:a.db")
        for number in range(60):
            await storage.commit(Put(f"/{number}", os.urandom(100_000)))
        for number in range(60):
            await storage.commit(Delete(f"/{number}"))
        await storage.close()

    asyncio.run(fill())
    assert (folder / "a.db").stat().st_size > 5_000_000
    _store("shrink", "sqlite:a.db")
    assert (folder / "a.db").stat().st_size < 200_000
    _store("check", "sqlite:a.db")


def _spoil(path: Path, *names: str) -> None:
    """Change the values of objects, as a failing disk does."""
    with closing(apsw.Connection(str(path))) as database:
        for name in names:
            database.execute("UPDATE log SET value = CAST(value || ' ' AS BLOB) WHERE key LIKE ?", (f"%/{name}",))


def test_a_check_lists_all_damage_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _spoil(folder / "a.db", "w", "s")
    before = (folder / "a.db").read_bytes()
    capsys.readouterr()
    assert main(["store", "check", "sqlite:a.db"]) == 1
    captured = capsys.readouterr()
    for key in ("/default/example.com/widgets/team/w", "/default/core/secrets/team/s"):
        assert f"{key}: the row of revision" in captured.out
    assert "problems in" in captured.err
    assert (folder / "a.db").read_bytes() == before


def test_a_check_prints_a_hundred_problems_and_counts_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _spoil(folder / "a.db", "%")
    capsys.readouterr()
    assert main(["store", "check", "sqlite:a.db"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert (len(lines), last.startswith("and "), last.endswith(" more problems")) == (100, True, True)


def test_what_can_be_read_of_a_damaged_file_is_exported_and_imported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _spoil(folder / "a.db", "s")
    before = (folder / "a.db").read_bytes()
    assert main(["store", "export", "sqlite:a.db"]) == 1
    capsys.readouterr()
    assert main(["store", "export", "sqlite:a.db", "--skip-damaged"]) == 1
    captured = capsys.readouterr()
    assert "left out: /default/core/secrets/team/s" in captured.err
    assert "left out: 1 entry; exported: 3 objects. Nothing was changed in it" in captured.err
    assert (folder / "a.db").read_bytes() == before
    (folder / "rest.yaml").write_text(captured.out)
    _store("import", "sqlite:b.db", "rest.yaml")
    capsys.readouterr()
    _store("export", "sqlite:b.db", "--skip-damaged")
    assert capsys.readouterr().out == captured.out


def test_objects_whose_definition_is_damaged_are_exported_as_they_are_stored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _spoil(folder / "a.db", "widgets.example.com")
    capsys.readouterr()
    assert main(["store", "export", "sqlite:a.db", "--skip-damaged", "-n", "team"]) == 1
    captured = capsys.readouterr()
    assert "kind: Widget" in captured.out
    assert "uid" not in captured.out
    assert "left out: /default/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com" in captured.err


def test_an_object_that_is_not_json_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    _damage(str(folder / "a.db"), "d")
    capsys.readouterr()
    assert main(["store", "export", "sqlite:a.db", "--skip-damaged"]) == 1
    captured = capsys.readouterr()
    assert "left out: /default/core/configmaps/nowhere/d" in captured.err
    assert "kind: Widget" in captured.out


OWNED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a-child
  uid: 11111111-0000-0000-0000-000000000000
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: parent, uid: 22222222-0000-0000-0000-000000000000, controller: true}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: parent
  uid: 22222222-0000-0000-0000-000000000000
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: a-child, uid: 11111111-0000-0000-0000-000000000000}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: stray
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: missing, uid: 33333333-0000-0000-0000-000000000000}
"""


def test_owners_are_exported_by_name_and_imported_with_their_new_uids(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "owned.yaml").write_text(OWNED)
    _store("import", "sqlite:a.db", "owned.yaml")
    warnings = capsys.readouterr().err
    assert 'ConfigMap default/stray: its owner ConfigMap "missing" with the uid 33333333' in warnings
    assert warnings.count("the object is written without it") == 2  # and the first object of the cycle, at first
    _store("check", "sqlite:a.db")
    _store("export", "sqlite:a.db")
    exported = capsys.readouterr().out
    assert "uid" not in exported
    assert exported.count("ownerReferences") == 2
    (folder / "again.yaml").write_text(exported)
    _store("import", "sqlite:b.db", "again.yaml")
    _store("check", "sqlite:b.db")
    capsys.readouterr()
    _store("export", "sqlite:b.db")
    assert capsys.readouterr().out == exported
    _store("export", "sqlite:b.db", "--without-owners")
    assert "ownerReferences" not in capsys.readouterr().out


def test_an_owner_that_is_not_exported_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "owned.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: team\n"
        "  ownerReferences: [{apiVersion: v1, kind: Namespace, name: team}]\n"
    )
    _store("import", "sqlite:a.db", "owned.yaml")
    capsys.readouterr()
    _store("export", "sqlite:a.db", "-n", "team")
    ran = capsys.readouterr()
    assert "ownerReferences" not in ran.out
    assert 'ConfigMap team/a is exported without its owner Namespace "team"' in ran.err


def test_an_import_that_fails_reports_how_far_it_got(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.yaml").write_text(OBJECTS.replace("name: s,", "name: S,"))
    assert main(["store", "import", "sqlite:a.db", "wrong.yaml"]) == 1
    assert "(stopped: 2 objects are imported, 1 failed, 1 were not tried)" in capsys.readouterr().err


def _with_entry(backup: Path, key: str, value: str, new: Path) -> None:
    """An archive with another value at a key, and the right checksum."""
    head, *lines, _ = backup.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if msgspec.json.decode(line)["key"] != key]
    content = b"".join([head, *kept, msgspec.json.encode({"key": key, "value": value}) + b"\n"])
    tail = {"entries": len(kept) + 1, "sha256": hashlib.sha256(content).hexdigest()}
    new.write_bytes(content + msgspec.json.encode(tail) + b"\n")


DEFINITION = "/default/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("/default/core/configmaps/default/a", "[]", "it is not an object"),
        (
            DEFINITION,
            '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}',
            "it is not an object",
        ),
        (
            "/default/core/configmaps/default/a",
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u"'
            ',"creationTimestamp":"2026-01-02T03:04:05Z"},"data":{"a b":"c"}}',
            "data[a b]: Invalid value",
        ),
    ],
)
def test_a_restore_names_what_is_invalid_and_restores_nothing_or_the_rest(
    key: str, value: str, problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml", "--encryption-keys", "one")
    _store("backup", "sqlite:a.db", "a.backup")
    _with_entry(folder / "a.backup", key, value, folder / "bad.backup")
    capsys.readouterr()
    assert main(["store", "restore", "bad.backup", "sqlite:b.db"]) == 1
    errors = capsys.readouterr().err
    assert f"{key}: {problem}" in errors
    assert "1 encrypted entries were not checked; --encryption-keys gives their keys" in errors
    assert "entries are invalid, and nothing was restored; --skip-invalid restores the others" in errors
    assert not (folder / "b.db").exists()
    _store("restore", "bad.backup", "sqlite:b.db", "--skip-invalid", "--encryption-keys", "one")
    errors = capsys.readouterr().err
    assert f"{key}: {problem}" in errors
    assert "were not checked" not in errors
    assert main(["store", "restore", "a.backup", "sqlite:c.db", "--encryption-keys", "two"]) == 1
    assert "is encrypted with the key 'one', which is not given" in capsys.readouterr().err


def test_a_command_lists_the_rest_of_damaged_objects_and_deletes_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _store("import", "sqlite:a.db", "objects.yaml")
    storage = DirectSqliteStorage("a.db")
    run_now(storage.commit(Put("/default/core/configmaps/default/bad", b"[]")))
    run_now(storage.commit(Put("/default/example.com/widgets/team/bad", b'{"apiVersion":"example.com/v1"}')))
    storage.close_now()
    capsys.readouterr()
    where = ("--storage", "sqlite:a.db")
    for kind, namespace, shown in (("configmaps", "default", ""), ("widgets", "team", "w")):
        for output in ("-oname", "-oyaml"):
            assert main(["get", kind, "-n", namespace, output, *where]) == 0
            ran = capsys.readouterr()
            assert f'"{namespace}/bad" cannot be read from the storage: it is not an object' in ran.err
            assert ran.err.startswith("Warning: ")
            assert shown in ran.out.replace("widget", "")
        assert main(["get", kind, "bad", "-n", namespace, *where]) == 1
        assert "Error from server (StorageReadError)" in capsys.readouterr().err
        assert main(["delete", kind, "bad", "-n", namespace, *where]) == 0
        assert "Warning: " in capsys.readouterr().err
        assert main(["get", kind, "-n", namespace, *where]) == 0
        assert "Warning" not in capsys.readouterr().err
