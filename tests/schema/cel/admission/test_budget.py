from __future__ import annotations

from itertools import count

import pytest

from pilotage.schema.cel.admission.budget import Allowance, OutOfBudgetError, RequestBudget
from pilotage.schema.cel.admission.evaluation import AdmissionExpression
from pilotage.schema.cel.costs.bounds import Cost
from pilotage.schema.cel.expression import EvaluationError

pytest.importorskip("cel_expr_python")


def test_the_expressions_of_a_request_share_its_time() -> None:
    ticks = count(step=50_000_000)
    budget = RequestBudget(lambda: next(ticks))
    expression = AdmissionExpression("object.size() == 1")
    for _ in range(4):
        assert expression.evaluate({"object": [1]}, None, budget) is True
    with pytest.raises(OutOfBudgetError):
        expression.evaluate({"object": [1]}, None, budget)


def test_an_evaluation_that_may_take_more_than_is_left_does_not_begin() -> None:
    ticks = count(step=100_000_000)
    budget = RequestBudget(lambda: next(ticks))
    bound = Cost(nanoseconds=100e6, bytes=0.0)
    budget.check(bound)
    with budget.spending():
        pass
    with pytest.raises(OutOfBudgetError):
        budget.check(bound)


def test_an_evaluation_that_no_request_allows_is_an_error_of_its_own() -> None:
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        RequestBudget().check(Cost(nanoseconds=1e9, bytes=0.0))


def test_results_that_are_kept_count_in_the_memory_of_later_evaluations() -> None:
    budget = RequestBudget()
    bound = Cost(nanoseconds=0.0, bytes=30 * 2.0**20)
    budget.hold(["x" * 1000] * 7000)
    with pytest.raises(OutOfBudgetError):
        budget.check(bound)


def test_an_allowance_is_spent_to_its_last_unit_and_no_further() -> None:
    allowance = Allowance(700_000)
    allowance.spend(350_000)
    allowance.spend(350_000)
    with pytest.raises(OutOfBudgetError):
        allowance.spend(1)
