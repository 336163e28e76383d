"""The permissions that a program lacks: logged at once, and reported by readiness while they are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from pilotage.cache.cache import Cache
from pilotage.cluster.cluster import Cluster
from pilotage.manager.errors import PermissionsMissing
from pilotage.rest.refusal import MissingPermission
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")

_LOGGED_NAMESPACES = 3
"""In how many namespaces the refusal of the same verb and resource is logged; further refusals are logged at debug
level."""


class Permissions:
    """The permissions that were refused to the informers, clients and elections of a manager. Informers and elections
    log missing permissions themselves, and retry; this class logs missing permissions of the clients of a cluster.
    """

    def __init__(self, others: Callable[[], Iterable[MissingPermission | None]]) -> None:
        """`others` returns the permissions that the elections and the selection of namespaces lack."""
        self._others = others
        self._clusters: list[tuple[Cluster, Cache]] = []
        self._logged: Counter[tuple[tuple[str, ...], str, str]] = Counter()

    def add(self, cluster: Cluster, cache: Cache) -> Callable[[], None]:
        """Include a cluster and its cache; the returned function ends it."""
        self._clusters.append((cluster, cache))
        return cluster.refusals.observe(self._log)

    def missing(self) -> tuple[MissingPermission, ...]:
        """All permissions that are missing now."""
        found = [one for one in self._others() if one is not None]
        for cluster, cache in self._clusters:
            found += [*cache.missing_permissions(), *cluster.refusals.missing]
        return tuple(dict.fromkeys(found))

    async def check(self) -> None:
        """The check of readiness: raises PermissionsMissing."""
        for cluster, _ in self._clusters:
            await cluster.review_refusals()
        if missing := self.missing():
            raise PermissionsMissing(missing)

    def _log(self, permission: MissingPermission, missing: bool) -> None:
        kind = (permission.verbs, permission.group, permission.resource)
        if not missing:
            del self._logged[kind]
            log.info("A permission that was missing is granted", rule=permission.rule, namespace=permission.namespace)
            return
        self._logged[kind] += 1
        write = log.error if self._logged[kind] <= _LOGGED_NAMESPACES else log.debug
        text = str(permission)
        write(text[0].upper() + text[1:])
