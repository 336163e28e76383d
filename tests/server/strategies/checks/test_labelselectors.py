from __future__ import annotations

from pilotage.server.strategies.checks import labelselectors


def test_keys_operators_and_values_are_checked() -> None:
    selector = {
        "matchLabels": {"a b": "x"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "a", "operator": "Like"},
            {"operator": "In", "values": ["a b"]},
        ],
    }
    assert [cause.field for cause in labelselectors.label_selector(selector, "spec.selector")] == [
        "spec.selector.matchLabels",
        "spec.selector.matchExpressions[0].values",
        "spec.selector.matchExpressions[1].values",
        "spec.selector.matchExpressions[2].operator",
        "spec.selector.matchExpressions[3].key",
        "spec.selector.matchExpressions[3].key",
        "spec.selector.matchExpressions[3].values[0]",
    ]


def test_values_of_expressions_may_be_left_unchecked() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}
    assert not list(labelselectors.label_selector(selector, "s", any_value=True))


def test_a_selector_without_terms_is_empty() -> None:
    assert labelselectors.is_empty(None)
    assert labelselectors.is_empty({"matchLabels": {}, "matchExpressions": []})
    assert not labelselectors.is_empty({"matchExpressions": [{"key": "a", "operator": "Exists"}]})


def test_an_invalid_selector_matches_nothing() -> None:
    assert labelselectors.matching({"matchExpressions": [{"key": "a", "operator": "Like"}]}) is None
    found = labelselectors.matching({"matchLabels": {"a": "1"}})
    assert found is not None
    assert found.matches({"a": "1"})


def test_a_selector_is_shown_with_its_fields_in_order() -> None:
    selector = {
        "matchExpressions": [{"values": ["d"], "operator": "In", "key": "c"}],
        "matchLabels": {"b": "2", "a": ""},
    }
    shown = '{"matchLabels":{"a":"","b":"2"},"matchExpressions":[{"key":"c","operator":"In","values":["d"]}]}'
    assert labelselectors.invalid_selector("s", selector, "no").message == f"Invalid value: {shown}: no"
    assert labelselectors.invalid_selector("s", None, "no").message == "Invalid value: null: no"
