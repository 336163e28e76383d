from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from pilotage.kubernetes.strategies import STRATEGIES, deferred
from pilotage.server.strategies.rules import Rules


def test_the_class_is_imported_with_the_first_strategy() -> None:
    make = deferred("no.such.module:Strategy")
    with pytest.raises(ModuleNotFoundError):
        make(Rules())


def test_a_strategy_has_the_rules_of_its_kind() -> None:
    rules, make = STRATEGIES["replicasets.apps"]
    strategy = make(rules)
    assert type(strategy).__name__ == "ReplicaSetStrategy"
    assert strategy.rules is rules
    assert rules.generation


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
