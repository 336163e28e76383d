from __future__ import annotations

from pilotage.codec.defaults import table
from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin


def test_every_kind_of_the_table_is_built_in_and_has_its_function() -> None:
    resources = {mapping.gvk for mapping in builtin.resources()}
    for key in table._FUNCTIONS:
        api_version, _, kind = key.rpartition("/")
        gvk = GroupVersionKind.of(api_version, kind)
        assert gvk in resources
        assert table.default_of(gvk) is not None


def test_a_kind_without_defaults_has_no_function() -> None:
    assert table.default_of(GroupVersionKind("", "v1", "ConfigMap")) is None
    assert table.default_of(GroupVersionKind("example.com", "v1", "Deployment")) is None
