"""CSIDrivers and CSINodes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields, items, numbers, texts
from pilotage.server.strategies.strategy import Strategy

_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_MODES = ("Persistent", "Ephemeral")
_MIN_PERIOD = 10
_TOKENS_IN_SECRETS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_MAX_NODE_ID = 256


class CSIDriverStrategy(Strategy):
    """CSI drivers get a generation with their first change."""

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        if not same(document["spec"], old["spec"]):
            document["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from fields.optional_choice(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", _GROUP_POLICIES)
        yield from _validate_token_requests(spec.get("tokenRequests") or [])
        for mode in spec.get("volumeLifecycleModes") or ():
            yield from fields.choice(mode, "spec.volumeLifecycleModes", _MODES)
        period = spec.get("nodeAllocatableUpdatePeriodSeconds")
        if period is not None and period < _MIN_PERIOD:
            path = "spec.nodeAllocatableUpdatePeriodSeconds"
            yield invalid(path, period, f"must be greater than or equal to {_MIN_PERIOD} seconds")
        in_secrets = spec.get("serviceAccountTokenInSecrets")
        if in_secrets is not None and not spec.get("tokenRequests"):
            detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            yield invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        for name, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
            value = document["spec"].get(name)
            if value != old["spec"].get(name):
                yield invalid(f"spec.{shown}", value, fields.IMMUTABLE, whole=True)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        spec = document["spec"]
        changed = old is None or old["spec"].get("tokenRequests") != spec.get("tokenRequests")
        warned = changed and spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
        return [_TOKENS_IN_SECRETS] if warned else []


def _validate_token_requests(requests: list[Document]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience") or ""
        if audience in seen:
            yield duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        yield from fields.given(seconds, f"{path}.expirationSeconds", numbers.token_lifetime)


class CSINodeStrategy(Strategy):
    """The drivers of a node are added and removed, but change only in how many volumes they allow."""

    def validate(self, document: Document) -> Iterator[Cause]:
        drivers = document["spec"].get("drivers") or []
        names: set[str] = set()
        for index, driver in enumerate(drivers):
            path, name, node = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
            yield from texts.driver_name(name, f"{path}.name")
            if not node:
                yield required(f"{path}.nodeID")
            elif len(node.encode(errors="replace")) > _MAX_NODE_ID:
                yield invalid(f"{path}.nodeID", node, f"must be {_MAX_NODE_ID} characters or less")
            yield from numbers.counts(driver.get("allocatable") or {}, f"{path}.allocatable", ("count",))
            yield from items.unique(name, f"{path}.name", names)
            yield from _validate_topology_keys(driver.get("topologyKeys") or [], path)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        was: dict[str, list[Document]] = {}
        for driver in old["spec"].get("drivers") or ():
            was.setdefault(driver.get("name", ""), []).append(_fixed(driver))
        for driver in document["spec"].get("drivers") or ():
            for before in was.get(driver.get("name", ""), ()):
                if _fixed(driver) != before:
                    yield invalid("spec.drivers", _fixed(driver), fields.IMMUTABLE, whole=True)


def _fixed(driver: Document) -> Document:
    return {key: value for key, value in driver.items() if key != "allocatable"}


def _validate_topology_keys(keys: list[str], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for key in keys:
        if not key:
            yield required(path)
        yield from items.unique(key, path, seen)
        yield from texts.text(key, path, qualified_name)
