from __future__ import annotations

import random
from typing import Any

import pytest

from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import ByObject, CacheOptions, NamespaceConfig, plan
from pilotage.cache.transforms import strip_managed_fields
from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.types.core.v1 import ConfigMap, Node
from tests.reflector.scripted import document

GVK = GroupVersionKind("", "v1", "ConfigMap")


def planned(options: CacheOptions, kind: Any = ConfigMap, *, namespaced: bool = True) -> dict[str, InformerOptions]:
    found = plan(kind, options, namespaced=namespaced, chooser=random.Random(0))
    return {one.namespace: one for one in found.informers}


def one(obj: Unstructured) -> Unstructured:
    return obj


def two(obj: Unstructured) -> Unstructured:
    return obj


@pytest.mark.covers("T125")
def test_by_default_one_informer_has_everything() -> None:
    (found,) = planned(CacheOptions()).values()
    assert (found.kind, found.namespace, found.labels, found.fields, found.transform) == (
        ConfigMap,
        "",
        None,
        None,
        None,
    )


@pytest.mark.covers("T125")
def test_the_sync_period_is_ten_hours_a_tenth_more_or_less() -> None:
    choosers = map(random.Random, range(50))
    found = [plan(ConfigMap, CacheOptions(), namespaced=True, chooser=chooser).informers for chooser in choosers]
    periods = [informers[0].resync for informers in found]
    assert all(32400 <= period <= 39600 for period in periods)
    assert max(periods) - min(periods) > 3600
    assert planned(CacheOptions(sync_period=0))[""].resync == 0


PRECEDENCE = [
    # options, the namespace, what wins
    (CacheOptions(default_label_selector="default"), "", "default"),
    (CacheOptions(default_label_selector="default", default_namespaces={"a": NamespaceConfig()}), "a", "default"),
    (
        CacheOptions(
            default_label_selector="default", default_namespaces={"a": NamespaceConfig(label_selector="namespace")}
        ),
        "a",
        "namespace",
    ),
    (
        CacheOptions(default_label_selector="default", by_object={ConfigMap: ByObject(label_selector="kind")}),
        "",
        "kind",
    ),
    (
        CacheOptions(
            default_namespaces={"a": NamespaceConfig(label_selector="namespace")},
            by_object={ConfigMap: ByObject(label_selector="kind")},
        ),
        "a",
        "kind",
    ),
    (
        CacheOptions(
            default_label_selector="default",
            by_object={
                ConfigMap: ByObject(label_selector="kind", namespaces={"a": NamespaceConfig(label_selector="own")})
            },
        ),
        "a",
        "own",
    ),
    (
        CacheOptions(by_object={ConfigMap: ByObject(label_selector="kind", namespaces={"a": NamespaceConfig()})}),
        "a",
        "kind",
    ),
    (
        CacheOptions(
            default_label_selector="default",
            default_namespaces={"a": NamespaceConfig(label_selector="namespace")},
            by_object={ConfigMap: ByObject(namespaces={"a": NamespaceConfig()})},
        ),
        "a",
        "namespace",
    ),
    (
        CacheOptions(
            default_label_selector="default",
            default_namespaces={"b": NamespaceConfig(label_selector="namespace")},
            by_object={ConfigMap: ByObject(namespaces={"a": NamespaceConfig()})},
        ),
        "a",
        "default",
    ),
    (
        CacheOptions(default_label_selector="default", by_object={Node: ByObject(label_selector="other kind")}),
        "",
        "default",
    ),
    (CacheOptions(default_label_selector="default", by_object={GVK: ByObject(label_selector="kind")}), "", "kind"),
    (
        CacheOptions(
            default_label_selector="default", by_object={metadata_only(ConfigMap): ByObject(label_selector="kind")}
        ),
        "",
        "kind",
    ),
]


@pytest.mark.covers("T120", "T125")
@pytest.mark.parametrize(("options", "namespace", "wins"), PRECEDENCE)
@pytest.mark.parametrize("kind", [ConfigMap, GVK, metadata_only(GVK)])
def test_the_most_particular_option_wins(options: CacheOptions, namespace: str, wins: str, kind: Any) -> None:
    assert planned(options, kind)[namespace].labels == wins


@pytest.mark.covers("T121", "T125")
def test_each_option_is_chosen_by_itself() -> None:
    options = CacheOptions(
        default_label_selector="l0",
        default_field_selector="f0=0",
        default_transform=one,
        sync_period=0,
        default_namespaces={"a": NamespaceConfig(field_selector="f1=1")},
        by_object={ConfigMap: ByObject(transform=two)},
    )
    found = planned(options)["a"]
    assert (found.labels, found.fields, found.transform, found.resync) == ("l0", "f1=1", two, 0)
    again = planned(options, Node, namespaced=False)[""]
    assert (again.labels, again.fields, again.transform) == ("l0", "f0=0", one)


@pytest.mark.covers("T119", "T125")
def test_namespaces_of_a_kind_are_instead_of_the_default_ones_and_none_at_all_means_all() -> None:
    assert planned(CacheOptions(default_namespaces=["a", "b"])).keys() == {"a", "b"}
    own = CacheOptions(default_namespaces=["a"], by_object={ConfigMap: ByObject(namespaces=["c"])})
    assert planned(own).keys() == {"c"}
    every = CacheOptions(default_namespaces=["a"], by_object={ConfigMap: ByObject(namespaces=[])})
    assert planned(every).keys() == {""}


@pytest.mark.covers("T119", "T125")
def test_a_kind_without_namespaces_is_not_narrowed_by_the_default_ones_and_may_have_none_of_its_own() -> None:
    assert planned(CacheOptions(default_namespaces=["a"]), Node, namespaced=False).keys() == {""}
    with pytest.raises(InvalidDefinition, match="Node is cluster-scoped"):
        planned(CacheOptions(by_object={Node: ByObject(namespaces=["a"])}), Node, namespaced=False)


@pytest.mark.covers("T120")
def test_all_other_namespaces_leave_out_the_named_ones() -> None:
    named = {"a": NamespaceConfig(label_selector="x"), "b": NamespaceConfig(), "": NamespaceConfig()}
    found = planned(CacheOptions(default_namespaces=named, default_field_selector="f=1"))
    assert str(found[""].fields) == "f=1,metadata.namespace!=a,metadata.namespace!=b"
    assert (found["a"].fields, found["a"].labels) == ("f=1", "x")


@pytest.mark.covers("T120")
def test_a_selector_for_one_namespace_is_that_namespace() -> None:
    found = planned(CacheOptions(by_object={ConfigMap: ByObject(field_selector="metadata.namespace=a")}))
    assert found.keys() == {"a"}


def test_a_string_is_not_several_namespaces() -> None:
    with pytest.raises(InvalidDefinition, match="must be a list of names"):
        planned(CacheOptions(default_namespaces="prod"))


@pytest.mark.covers("T121")
def test_stripping_managed_fields_leaves_everything_else_alone() -> None:
    whole = document("a", 1, metadata={"managedFields": [{"manager": "x"}], "labels": {"a": "b"}}, data={"k": "v"})
    assert strip_managed_fields(Unstructured(whole)) == document(
        "a", 1, metadata={"labels": {"a": "b"}}, data={"k": "v"}
    )
    assert strip_managed_fields(Unstructured(document("a", 1))) == document("a", 1)


@pytest.mark.parametrize(
    ("options", "sure"),
    [
        (InformerOptions(ConfigMap), True),
        (InformerOptions(ConfigMap, namespace="n"), True),
        (InformerOptions(ConfigMap, namespace="other"), False),
        (InformerOptions(ConfigMap, labels="app=web"), True),
        (InformerOptions(ConfigMap, labels="app!=web"), False),
        (InformerOptions(ConfigMap, fields={"metadata.name": "a"}), True),
        (InformerOptions(ConfigMap, fields="metadata.namespace!=n"), False),
        (InformerOptions(ConfigMap, fields="status.phase=Running"), False),
    ],
)
def test_options_say_which_objects_they_cover(options: InformerOptions, sure: bool) -> None:
    assert options.covers(namespace="n", name="a", labels={"app": "web"}) is sure
