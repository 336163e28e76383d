from __future__ import annotations

from pilotage.kubernetes.kinds import KINDS
from pilotage.kubernetes.strategies import STRATEGIES
from pilotage.server.catalogue.catalogue import strategy_for
from pilotage.types import builtin


def test_the_strategies_are_of_resources_that_exist() -> None:
    known = {str(mapping.resource.group_resource) for mapping in builtin.resources()}
    assert known >= {name.partition("/")[0] for name in STRATEGIES}


def test_a_selectable_field_is_a_plain_value_of_the_schema() -> None:
    for mapping in builtin.resources():
        if mapping.resource.group_resource == ("events.k8s.io", "events"):
            continue  # selected in the stored form, which is that of core/v1
        for path in strategy_for(mapping, KINDS).rules.selectable_fields.values():
            if path[-1] == "":
                continue  # a field that is accepted and always empty
            schema = builtin.schema(mapping.gvk)
            for step in path:
                schema = schema["properties"][step]
                if "allOf" in schema:
                    schema = builtin.definition(schema["allOf"][0]["$ref"])
            assert schema["type"] in ("string", "boolean", "integer"), path


def test_events_are_selected_by_the_stored_fields() -> None:
    core, new = STRATEGIES["events"], STRATEGIES["events.events.k8s.io"]
    assert new.rules.selectable_fields["regarding.name"] == core.rules.selectable_fields["involvedObject.name"]
    assert new.rules.selectable_fields["reportingController"] == core.rules.selectable_fields["reportingComponent"]


def test_only_subresources_that_are_served_are_named() -> None:
    served = {name for mapping in builtin.resources() for name in strategy_for(mapping, KINDS).rules.subresources}
    assert served == {"status", "finalize", "ephemeralcontainers", "resize", "approval", "scale"}
