"""The addresses of a Service and their families (IPv4, IPv6): omitted values are inferred, then all must agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import address, validate_address
from pilotage.kubernetes.core.services.kinds import is_headless, needs_cluster_ip, same
from pilotage.kubernetes.core.services.ranges import NO_ADDRESS
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, items

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_POLICY = "spec.ipFamilyPolicy"


def normalize_addresses(spec: Document, old: Document | None) -> None:
    """Derive the list of addresses from the single address, for clients that know only that, in place."""
    single, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if old is None:
        if single and not several:
            spec["clusterIPs"] = [single]
        return
    was, were = old.get("clusterIP") or "", old.get("clusterIPs") or []
    if were and not several and single == was:
        spec["clusterIPs"] = several = list(were)
    if single != was and several == were:
        if single:
            spec["clusterIPs"] = [single]
        else:
            spec.pop("clusterIPs", None)


def resolve_families(spec: Document, old: Document | None, known: Sequence[str]) -> list[Cause]:
    """Infer the families of the addresses and the policy, in place. Returns what is wrong with them. `known` are the
    families of the cluster."""
    if not needs_cluster_ip(spec) or _keeps_preference(spec, old):
        return []
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _default_policy(spec, old)
    causes = list(validate_addresses(spec, old))
    if causes:
        return causes
    if old is not None:
        causes += _release_second(spec, old)
    causes += _infer_families(spec, known)
    if causes:
        return causes
    policy, families = spec["ipFamilyPolicy"], spec.get("ipFamilies") or []
    if spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector"):
        families = families or [known[0]]
        if len(families) == 1 and policy != "SingleStack":
            families = [*families, next(family for family in _FAMILIES if family != families[0])]
        spec["ipFamilies"] = families  # without a selector it may have families that the cluster does not have
        return []
    causes += _validate_cluster(policy, families, known)
    if not causes:
        families = families or [known[0]]
        both = policy != "SingleStack" and len(families) == 1 and len(known) > 1
        spec["ipFamilies"] = [*families, *(each for each in known if both and each != families[0])]
    return causes


def _keeps_preference(spec: Document, old: Document | None) -> bool:
    """Whether it is an update of a Service that prefers two stacks, and that part of it does not change."""
    return (
        old is not None
        and spec.get("type") == old.get("type")
        and spec.get("ipFamilyPolicy") == old.get("ipFamilyPolicy", "PreferDualStack") == "PreferDualStack"
        and same(spec, old, "clusterIPs", "ipFamilies")
    )


def _default_policy(spec: Document, old: Document | None) -> str:
    if old is not None and old.get("ipFamilyPolicy") is not None:
        policy: str = old["ipFamilyPolicy"]
        return policy
    headless = spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector")
    return "RequireDualStack" if headless else "SingleStack"


def _release_second(spec: Document, old: Document) -> Iterator[Cause]:
    """Release the second address and family if the policy becomes SingleStack, and only then."""
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values = spec.get(name) or []
        if spec["ipFamilyPolicy"] == "SingleStack":
            if len(values) > 1 and same(spec, old, name):
                spec[name] = values[:1]
        elif values and len(values) < len(old.get(name) or ()):
            yield invalid(_POLICY, spec["ipFamilyPolicy"], f"must be 'SingleStack' to release the secondary {what}")


def _infer_families(spec: Document, known: Sequence[str]) -> Iterator[Cause]:
    addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    if spec["ipFamilyPolicy"] == "SingleStack":
        detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        if len(addresses) == 2:
            yield invalid(_POLICY, "SingleStack", f"{detail} cluster IPs are specified")
        if len(families) == 2:
            yield invalid(_POLICY, "SingleStack", f"{detail} IP families are specified")
    for index, text in enumerate(addresses):
        if text == NO_ADDRESS:
            break
        if index < len(families):
            continue
        family = _family(text)
        if family in known:
            families.append(family)
        else:
            detail = f"{family} is not configured on this cluster"
            yield invalid(f"spec.clusterIPs[{index}]", addresses, detail, whole=True)
    if families:
        spec["ipFamilies"] = families


def _validate_cluster(policy: str, families: list[str], known: Sequence[str]) -> Iterator[Cause]:
    if policy == "RequireDualStack" and len(known) < len(_FAMILIES):
        yield invalid(_POLICY, policy, "this cluster is not configured for dual-stack services")
    for index, family in enumerate(families):
        if family not in known:
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _family(text: str) -> str:
    found = address(text)
    return f"IPv{found.version}" if found is not None else "unknown"


def validate_addresses(spec: Document, old: Document | None) -> Iterator[Cause]:
    """The single address, the list, the families and the policy, each for itself and with each other."""
    if not needs_cluster_ip(spec):
        return
    single, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    yield from _validate_single(single, several)
    yield from _validate_families(spec)
    causes = list(_validate_each(several, (old or {}).get("clusterIPs") or []))
    yield from causes
    if len(several) > 2:
        yield invalid("spec.clusterIPs", several, "may only hold up to 2 values", whole=True)
    if causes:
        return
    if len(several) > 1 and len({_family(text) for text in several}) < len(several):
        detail = "may specify no more than one IP for each IP family"
        yield invalid("spec.clusterIPs", several, detail, whole=True)
    if not is_headless(spec):
        for index, (text, family) in enumerate(zip(several, spec.get("ipFamilies") or (), strict=False)):
            if family in _FAMILIES and _family(text) != family:
                detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                yield invalid(f"spec.clusterIPs[{index}]", text, detail)


def _validate_single(single: str, several: list[str]) -> Iterator[Cause]:
    if single and not several:
        yield required("spec.clusterIPs")
    elif single and several[0] != single:
        yield invalid("spec.clusterIPs", several, "first value must match `clusterIP`", whole=True)
    elif several and not single:
        detail = "must be empty when `clusterIP` is not specified"
        yield invalid("spec.clusterIPs", several, detail, whole=True)


def _validate_families(spec: Document) -> Iterator[Cause]:
    yield from items.distinct(spec.get("ipFamilies") or (), "spec.ipFamilies", fields.choice, _FAMILIES)
    yield from fields.optional_choice(spec.get("ipFamilyPolicy"), _POLICY, _POLICIES)


def _validate_each(addresses: list[str], known: list[str]) -> Iterator[Cause]:
    for index, text in enumerate(addresses):
        if index or text != NO_ADDRESS:
            yield from validate_address(text, f"spec.clusterIPs[{index}]", known)
        elif len(addresses) > 1:
            yield invalid("spec.clusterIPs", addresses, "'None' must be the first and only value", whole=True)
