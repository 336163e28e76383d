"""What the commands that maintain a storage do."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pilotage.cluster.cluster import Cluster
from pilotage.errors import StorageBroken, StorageError
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.kit.console.manifestfiles import read_manifests
from pilotage.kit.console.terminal import GREEN, standard_error, standard_output
from pilotage.kit.routes.tenancy import check_exists, has_tenant
from pilotage.kit.store import StoreArguments
from pilotage.kit.store.check import problems
from pilotage.kit.store.objects import apply_objects, export_objects, exported
from pilotage.kit.store.readable import export_readable, in_memory
from pilotage.kit.store.validation import validated
from pilotage.kubernetes.core.events import LIFETIME
from pilotage.kubernetes.core.loops.events import EVENTS
from pilotage.meta.documents import Document
from pilotage.meta.text import yamltext
from pilotage.meta.text.counts import counted
from pilotage.server.encryption import encrypted
from pilotage.storage import Snapshot, Storage, open_storage, url_without_password
from pilotage.storage.archive import Archive, read_archive, restore_archive, write_archive
from pilotage.storage.encryption import Cipher, load_keys
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.file import sync
from pilotage.storage.sqlite.newfile import is_free, new_file
from pilotage.storage.sqlite.salvage import Salvaged, salvage

_SQLITE = "sqlite:"
_MOST_PROBLEMS = 100
"""The problems that a check prints; the others are counted."""


async def backup(options: StoreArguments) -> None:
    if str(options.file) == "-":
        raise CommandError("a backup is written to a file and not to standard output: give its path")
    _check_there(options.storage)
    async with _open(options.storage) as storage:
        with reported(f"cannot create {options.file}"):
            descriptor = os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                head = await write_archive(storage, file)
                file.flush()
                os.fsync(file.fileno())
            sync(str(options.file.parent))
        except BaseException as error:
            options.file.unlink()  # an incomplete backup is removed
            if not isinstance(error, OSError):
                raise
            raise CommandError(f"cannot write {options.file}: {error.strerror}") from error
    _done(f"wrote {options.file}, the data at revision {head.revision}")


async def restore(options: StoreArguments) -> None:
    _check_lasting(options.storage)
    with reported(f"cannot read {options.file}"), options.file.open("rb") as file:
        archive = read_archive(file, str(options.file))
    archive = _validated(options, archive)
    async with _restoring(options.storage, archive.revision + 1) as storage:
        if options.storage.startswith(_SQLITE) and storage.revision <= archive.revision:
            raise CommandError(
                f"{options.storage} is at revision {storage.revision}, and the backup at {archive.revision}: resource "
                "versions would appear twice; restore into a new file"
            )
        revision = await restore_archive(storage, archive, _lifetime)
    _done(f"restored {counted(len(archive.puts), 'entry', 'entries')}; the storage is at revision {revision}")


def _validated(options: StoreArguments, archive: Archive) -> Archive:
    """The archive with the entries that can be stored. Raises CommandError if there are others, unless these are
    skipped."""
    cipher = Cipher(load_keys(options.encryption_keys)) if options.encryption_keys else None
    with standard_error().working(f"Checking {len(archive.puts):,} entries"):
        found = validated(archive.puts, cipher)
    if found.unchecked:
        _warn(f"{found.unchecked:,} encrypted entries were not checked; --encryption-keys gives their keys")
    errors = standard_error()
    for problem in found.problems[:_MOST_PROBLEMS]:
        errors.line(problem)
    if len(found.problems) > _MOST_PROBLEMS:
        errors.line(f"and {len(found.problems) - _MOST_PROBLEMS:,} more problems")
    if found.problems and not options.skip_invalid:
        raise CommandError(
            f"{options.file}: {len(found.problems):,} of {len(archive.puts):,} entries are invalid, and nothing was "
            "restored; --skip-invalid restores the others"
        )
    return Archive(archive.revision, found.puts)


def _lifetime(key: str) -> int:
    """The lifetime that the server sets: etcd deletes Events itself."""
    return LIFETIME if key.startswith(f"/{EVENTS}", key.find("/", 1)) else 0


async def check(options: StoreArguments) -> int:
    _check_there(options.storage)
    found: list[str] = []
    try:
        async with _open(options.storage) as storage:
            snapshot = await _check_objects(storage, options, found)
    except StorageBroken as error:
        readable = _salvaged(options.storage, error)
        found += readable.damage
        snapshot = await _check_objects(await in_memory(readable), options, found)
    output = standard_output()
    for problem in found[:_MOST_PROBLEMS]:
        output.line(problem)
    if len(found) > _MOST_PROBLEMS:
        output.line(f"and {counted(len(found) - _MOST_PROBLEMS, 'more problem')}")
    if found:
        raise CommandError(
            f"{url_without_password(options.storage)}: {counted(len(found), 'problem')} in "
            f"{counted(len(snapshot.entries), 'entry', 'entries')}"
        )
    entries = counted(len(snapshot.entries), "entry", "entries")
    _done(f"checked {entries} at revision {snapshot.revision}: no problem found")
    return 0


async def _check_objects(storage: Storage, options: StoreArguments, found: list[str]) -> Snapshot:
    readable = encrypted(storage, options.encryption_keys) if options.encryption_keys else storage
    snapshot = await storage.list("")
    found += [problem async for problem in problems(readable, snapshot.entries)]
    return snapshot


def _salvaged(url: str, error: StorageBroken) -> Salvaged:
    """What can be read of a damaged file; raises the error of its opening if that is nothing."""
    if not url.startswith(_SQLITE):
        raise error
    try:
        found = salvage(url.removeprefix(_SQLITE))
    except StorageError:
        raise error from None
    if not found.damage:
        raise error
    return found


async def export(options: StoreArguments) -> None:
    _check_there(options.storage)
    if options.skip_damaged:
        await _export_readable(options)
        return
    documents: list[Document] = []
    async with _open(options.storage) as storage:
        if await has_tenant(storage, options.tenant):
            async with _cluster(options, storage) as cluster:
                documents = await export_objects(cluster.client, options.namespace)
    documents = exported(documents, _warn, owners=not options.without_owners)
    if documents:
        standard_output().line(yamltext.write_all(documents).rstrip("\n"))


async def _export_readable(options: StoreArguments) -> None:
    """Export what a file has that can be read. Raises CommandError if there is anything else in it."""
    url = options.storage
    if not url.startswith(_SQLITE):
        raise CommandError(f"{url_without_password(url)}: --skip-damaged is for a SQLite file; etcd checks its data")
    found = salvage(url.removeprefix(_SQLITE))
    if not found.damage:
        await has_tenant(await in_memory(found), options.tenant)
    documents, unreadable = await export_readable(
        found, options.tenant, options.namespace, options.encryption_keys or ""
    )
    documents = exported(documents, _warn, owners=not options.without_owners)
    if documents:
        standard_output().line(yamltext.write_all(documents).rstrip("\n"))
    errors = standard_error()
    for line in (*found.damage, *(f"left out: {key}" for key in (*found.lost, *unreadable))):
        errors.line(line)
    if found.damage or unreadable:
        raise CommandError(
            f"{url} is damaged: left out: {counted(len(found.lost) + len(unreadable), 'entry', 'entries')}; "
            f"exported: {counted(len(documents), 'object')}. Nothing was changed in it"
        )


async def import_objects(options: StoreArguments) -> None:
    _check_lasting(options.storage)
    objects = read_manifests(options.files, required=False)
    async with _cluster(options, options.storage) as cluster:
        await apply_objects(cluster.client, objects, _warn, options.into)
    _done(f"applied {counted(len(objects), 'object')}")


async def shrink(options: StoreArguments) -> None:
    _check_there(options.storage)
    if not options.storage.startswith(_SQLITE):
        raise CommandError(f"{options.storage}: only a SQLite file can be shrunk; etcd has `etcdctl defrag`")
    storage = await SqliteStorage.open(options.storage.removeprefix(_SQLITE))
    try:
        before = os.stat(storage.path).st_size
        await storage.compact(storage.revision)
        await storage.shrink()
        after = os.stat(storage.path).st_size
    finally:
        await storage.close()
    _done(f"shrank {storage.path} from {before:,} to {after:,} bytes")


async def rotate_keys(options: StoreArguments) -> None:
    _check_there(options.storage)
    async with _open(options.storage) as storage:
        count = await encrypted(storage, options.encryption_keys or "").rotate()
    _done(f"encrypted {counted(count, 'value')} again")


@asynccontextmanager
async def _restoring(url: str, first_revision: int) -> AsyncIterator[Storage]:
    """The storage to restore into. A new SQLite file appears when it is complete."""
    path = url.removeprefix(_SQLITE)
    free = url.startswith(_SQLITE) and is_free(path)
    async with new_file(path, first_revision) if free else _open(url) as storage:
        yield storage


@asynccontextmanager
async def _open(url: str) -> AsyncIterator[Storage]:
    with standard_error().working(f"Opening {url_without_password(url)}"):
        storage = await open_storage(url)
    try:
        yield storage
    finally:
        await storage.close()


def _cluster(options: StoreArguments, storage: str | Storage) -> Cluster:
    log, policy = options.audit
    return Cluster.embedded(
        storage,
        tenant=options.tenant,
        encryption_keys=options.encryption_keys or "",
        audit_log_path=log,
        audit_policy_file=policy,
    )


def _check_there(url: str) -> None:
    """Check that the storage exists: a command that reads does not create one."""
    _check_lasting(url)
    check_exists(url)


def _check_lasting(url: str) -> None:
    """Refuse a storage that ends with this command."""
    if url.startswith("memory:"):
        raise CommandError("a storage in memory belongs to its program: give sqlite:PATH or etcd://HOST:PORT")


def _warn(text: str) -> None:
    standard_error().line(f"Warning: {text}")


def _done(text: str) -> None:
    terminal = standard_error()
    terminal.line(terminal.accented(text, GREEN))
