"""Affinity and anti-affinity of a pod to nodes and pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, label_value, qualified_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(affinity: Document | None, path: str) -> Iterator[Cause]:
    """Affinity to nodes, affinity to pods, and anti-affinity to pods."""
    if not affinity:
        return
    yield from fields.given(affinity.get("nodeAffinity"), f"{path}.nodeAffinity", _validate_node_affinity)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        yield from items.each(pods.get(REQUIRED), f"{path}.{kind}.{REQUIRED}", _validate_pod_term)
        for index, weighted in enumerate(pods.get(PREFERRED) or ()):
            at = f"{path}.{kind}.{PREFERRED}[{index}]"
            yield from _validate_weight(weighted, at)
            yield from _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def pod_terms(spec: Document) -> Iterator[Document]:
    """The terms of a pod's affinities to other pods: the preferred ones, then the required ones."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        yield from (weighted.get("podAffinityTerm") or {} for weighted in pods.get(PREFERRED) or ())
        yield from pods.get(REQUIRED) or ()


def validate_node_selector(selector: Document, path: str) -> Iterator[Cause]:
    """A node selector with terms, one of which a node must meet."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    yield from items.each(terms, f"{path}.nodeSelectorTerms", validate_node_selector_term)


def validate_node_selector_term(term: Document, path: str, *, any_value: bool = False) -> Iterator[Cause]:
    """Expressions about the labels of a node and about its name. With `any_value` values are not checked."""
    yield from items.each(
        term.get("matchExpressions"), f"{path}.matchExpressions", _validate_expression, any_value=any_value
    )
    yield from items.each(term.get("matchFields"), f"{path}.matchFields", _validate_field)


def validate_label_keys(
    holder: Document, path: str, names: Sequence[str] = ("matchLabelKeys", "mismatchLabelKeys")
) -> Iterator[Cause]:
    """Keys of labels whose values, in the pod itself, are added to its selector."""
    selector = holder.get("labelSelector")
    for name in names:
        if (keys := holder.get(name)) and selector is None:
            yield forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
        else:
            yield from items.each(keys, f"{path}.{name}", texts.text, qualified_name)
    matching = {key: index for index, key in enumerate(holder.get("matchLabelKeys") or ())}
    if selector and matching:
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in seen and key in matching:
                message = "exists in both matchLabelKeys and labelSelector"
                yield invalid(f"{path}[{matching[key]}]", key, message)
            seen.add(key)
    differing = set(holder.get("mismatchLabelKeys") or ())
    for index, key in enumerate((holder.get("matchLabelKeys") or ()) if differing else ()):
        if key in differing:
            message = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, message)


def _validate_node_affinity(affinity: Document, path: str) -> Iterator[Cause]:
    yield from fields.given(affinity.get(REQUIRED), f"{path}.{REQUIRED}", validate_node_selector)
    for index, weighted in enumerate(affinity.get(PREFERRED) or ()):
        at = f"{path}.{PREFERRED}[{index}]"
        yield from _validate_weight(weighted, at)
        term = weighted.get("preference") or {}
        yield from validate_node_selector_term(term, f"{at}.preference", any_value=True)


def _validate_weight(weighted: Document, path: str) -> Iterator[Cause]:
    weight = weighted.get("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_expression(expression: Document, path: str, *, any_value: bool) -> Iterator[Cause]:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    yield from labelselectors.check_presence(operator, values, path)
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in labelselectors.OPERATORS:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from texts.text(expression.get("key") or "", f"{path}.key", qualified_name)
    yield from items.each(() if any_value else values, f"{path}.values", texts.text, label_value)


def _validate_field(expression: Document, path: str) -> Iterator[Cause]:
    operator, key = expression.get("operator") or "", expression.get("key") or ""
    values = expression.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", message)
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
    else:
        yield from items.each(values, f"{path}.values", texts.text)


def _validate_pod_term(term: Document, path: str) -> Iterator[Cause]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from labelselectors.label_selector(term.get(name), f"{path}.{name}")
    for namespace in term.get("namespaces") or ():
        yield from texts.text(namespace, f"{path}.namespace", dns_1123_label)
    yield from validate_label_keys(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from texts.text(key, f"{path}.topologyKey", qualified_name)
