"""Validates the objects of an archive before they are stored, as an update that changes nothing is validated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from pilotage.errors import Cause, StorageError
from pilotage.kubernetes.kinds import KINDS
from pilotage.rest.request import APIRequest, Verb
from pilotage.server import records
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.definitions import DEFINITIONS
from pilotage.server.resources import ResourceInfo
from pilotage.server.soundness import UNUSABLE, builtin_versions, is_object, named, problem
from pilotage.server.writes import steps
from pilotage.storage.encryption import MARK, Cipher
from pilotage.storage.interface import Entry, Put

_MOST_CAUSES = 3
"""The causes that are listed for one object."""


@dataclass(slots=True)
class ValidatedPuts:
    """The entries of an archive that can be stored, and what is wrong with the others."""

    puts: list[Put] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One line for each entry that cannot be stored, with its key."""
    unchecked: int = 0
    """The number of encrypted entries for which there are no keys."""


def validated(puts: Iterable[Put], cipher: Cipher | None) -> ValidatedPuts:
    """Validate all objects of all tenants. Without a cipher, encrypted ones are counted and kept."""
    puts = list(puts)
    result = ValidatedPuts()
    validation = _Validation(puts)
    for put in puts:
        value, text = put.value, ""
        if value.startswith(MARK):
            value, text = _decrypted(put, cipher)
            result.unchecked += cipher is None
        if not text and not value.startswith(MARK) and is_object(put.key):
            text = validation.problem_of(Entry(put.key, value, 1, 1))
        if text:
            result.problems.append(f"{put.key}: {text}")
        else:
            result.puts.append(put)
    return result


def _decrypted(put: Put, cipher: Cipher | None) -> tuple[bytes, str]:
    if cipher is None:
        return put.value, ""
    try:
        return cipher.decrypt(put.key, put.value), ""
    except StorageError as error:
        return put.value, str(error)


class _Validation:
    """Validates objects by the built-in kinds and the definitions that are among them."""

    def __init__(self, puts: Iterable[Put]) -> None:
        self._custom: dict[str, Mapping[str, ResourceInfo]] = {}
        for put in puts:
            tenant, _, rest = put.key.lstrip("/").partition("/")
            if rest.startswith(DEFINITIONS) and not problem(Entry(put.key, put.value, 1, 1), KINDS):
                for info in resources_of(records.decode(put.value), put.key, 1):
                    self._custom[f"{tenant}/{info.collection}"] = info.versions

    def problem_of(self, entry: Entry) -> str:
        """What is wrong with an object; empty if a server can read it, and could have written it."""
        if text := problem(entry, KINDS):
            return text
        info = self._info(entry)
        if info is None:
            return ""  # its definition is not in the archive: it is served when the definition is created
        try:
            return "; ".join(f"{each.field}: {each.message}" for each in islice(_causes(entry, info), _MOST_CAUSES))
        except UNUSABLE as error:
            return named(error)

    def _info(self, entry: Entry) -> ResourceInfo | None:
        _, tenant, group, resource, _ = entry.key.split("/", 4)
        collection = f"{group}/{resource}/"
        versions = builtin_versions(collection, KINDS) or self._custom.get(f"{tenant}/{collection}")
        return versions.get(records.decode(entry.value)["apiVersion"]) if versions else None


def _causes(entry: Entry, info: ResourceInfo) -> Iterator[Cause]:
    old, new = (records.internal(entry.value, info) for _ in range(2))
    for document in (old, new):
        document["metadata"]["resourceVersion"] = "1"
    metadata = new["metadata"]
    request = APIRequest(Verb.UPDATE, info.gvr, metadata.get("namespace", ""), metadata["name"])
    yield from steps.validate_update(info, request, new, old)
