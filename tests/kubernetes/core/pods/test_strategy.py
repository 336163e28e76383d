from __future__ import annotations

from ...writes import created, fields, strategy_of
from .specs import container, spec

STRATEGY = strategy_of("podtemplates")


def test_a_pod_template_is_defaulted_and_checked_as_those_of_other_kinds() -> None:
    document, causes = created(STRATEGY, template={"spec": spec()})
    assert not causes
    assert document["template"]["spec"]["restartPolicy"] == "Always"
    assert document["metadata"]["generation"] == 1
    _, causes = created(STRATEGY, template={"spec": spec(container(name=""))})
    assert fields(causes) == ["template.spec.containers[0].name"]


def test_warnings_name_the_field_of_the_template() -> None:
    document, _ = created(STRATEGY, template={"spec": spec(terminationGracePeriodSeconds=-1)})
    (warning,) = STRATEGY.warnings(document, None)
    assert warning.startswith("template.spec.terminationGracePeriodSeconds: ")
