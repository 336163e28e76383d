"""Random CEL rules for random schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

Schema = dict[str, Any]

_RULES: Mapping[str, tuple[str, ...]] = {
    "string": (
        "self != 'b'",
        "self.size() < 3",
        "!self.startsWith('d')",
        "self == oldSelf",
        "self.matches('^[a-c]*$')",
    ),
    "integer": ("self >= 0", "self % 2 == 0", "self >= oldSelf", "self != 12", "1 / self < 2"),
    "number": ("self < 1.5", "self != 0.0"),
    "boolean": ("self", "self == oldSelf", "!self || !oldSelf"),
    "array": ("self.size() < 2", "self.exists(x, true)", "self == oldSelf", "self.all(x, x in oldSelf)"),
    "either": ("self != 1", "type(self) != int || self > 0", "string(self) != '1'"),
    "map": ("self.size() < 2", "self.all(k, k != 'y')", "!('x' in self)", "self == oldSelf"),
    "object": ("has(self.{0})", "!has(self.{0})", "self.{0} == oldSelf.{0}", "!has(oldSelf.{0}) || has(self.{0})"),
}
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_WRONG = ("self +", "selff", "self.size() == 'a'", "1", "")


def with_rules(schema: Schema, chance: Random, often: float = 0.12) -> Schema:
    """A schema with rules at some of its parts."""
    for part in [schema, *_parts(schema)]:
        if chance.random() < often and (rules := _rules(part, chance)):
            part["x-kubernetes-validations"] = rules
    return schema


def _parts(schema: Schema) -> Iterator[Schema]:
    """The schemas below one, in which rules may be."""
    below = [*schema.get("properties", {}).values()]
    below += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for part in below:
        yield part
        yield from _parts(part)


def _rules(part: Schema, chance: Random) -> list[Schema]:
    sort = _sort(part)
    texts = [text for text in _RULES.get(sort, ()) if "{0}" not in text]
    if names := sorted(part.get("properties", {})):
        texts += [text.format(_escaped(chance.choice(names))) for text in _RULES["object"]]
    if not texts:
        return []
    return [_rule(text, part, chance) for text in chance.sample(texts, min(len(texts), chance.randint(1, 2)))]


def _rule(text: str, part: Schema, chance: Random) -> Schema:
    made: Schema = {"rule": text if chance.random() < 0.98 else chance.choice(_WRONG)}
    if chance.random() < 0.3:
        made["message"] = "must be as the rule says"
    elif chance.random() < 0.1:
        made["messageExpression"] = chance.choice(["'this is wrong'", "''", "'a' + 'b'"])
    if chance.random() < 0.2:
        made["reason"] = chance.choice(_REASONS)
    if (names := sorted(part.get("properties", {}))) and chance.random() < 0.15:
        made["fieldPath"] = f".{chance.choice([name for name in names if name.isalpha()] or ['none'])}"
    if "oldSelf" in text and chance.random() < 0.1:
        made |= {"optionalOldSelf": True, "rule": "!oldSelf.hasValue() || oldSelf.value() == self"}
    return made


def _sort(part: Schema) -> str:
    if part.get("x-kubernetes-int-or-string"):
        return "either"
    if part.get("type") == "object":
        return "map" if "additionalProperties" in part else "object"
    return str(part.get("type", ""))


def _escaped(name: str) -> str:
    return {"x-y": "x__dash__y", "if": "__if__"}.get(name, name)
