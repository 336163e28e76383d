from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace

import pytest

from pilotage.kubernetes.strategies import DeferredStrategy
from pilotage.meta.documents import Document


def test_the_flags_are_known_before_the_class_is_imported() -> None:
    strategy = DeferredStrategy(target="no.such.module:Strategy", generation=True)
    assert strategy.generation
    assert replace(strategy, subresources=("status",)).subresources == ("status",)
    with pytest.raises(ModuleNotFoundError):
        strategy.prepare_for_create({})


def test_all_else_is_that_of_the_class() -> None:
    strategy = replace(
        DeferredStrategy(target="apps.replicasets:ReplicaSetStrategy", generation=True), subresources=("status",)
    )
    document: Document = {"metadata": {"name": "one"}, "spec": {"template": {}}}
    assert "spec.selector" in [cause.field for cause in strategy.validate(document)]
    strategy.prepare_for_create(document)
    assert document["metadata"]["generation"] == 1
    assert isinstance(strategy, DeferredStrategy)


def test_a_server_starts_without_the_rules_of_every_kind() -> None:
    program = (
        "import sys; from pilotage.kubernetes.kinds import KINDS; "
        "from pilotage.server.catalogue.catalogue import builtins; builtins(KINDS); "
        "print([m for m in sys.modules if m.startswith('pilotage.kubernetes.') and m.count('.') > 2])"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[2] for name in ast.literal_eval(output)}
    assert loaded.isdisjoint({"apps", "batch", "autoscaling", "networking", "policy"}), output
    assert "services.rules" not in output
