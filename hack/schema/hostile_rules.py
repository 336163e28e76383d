"""Expensive CEL rules and objects for them, and a program that runs them and prints what each cost.

python -m hack.schema.hostile_rules ["name of an object" …]
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
LIST: dict[str, Any] = {"type": "array", "items": TEXT}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
OPEN: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STAMPS: dict[str, Any] = {"type": "array", "items": {"type": "string", "format": "date-time"}}
PROPERTIES: dict[str, Any] = {
    "s": TEXT,
    "p": TEXT,
    "l": LIST,
    "n": NUMBERS,
    "m": {"type": "object", "additionalProperties": TEXT},
    "o": {"type": "array", "items": OPEN},
    "x": OPEN,
    "stamps": STAMPS,
    "i": {"type": "integer"},
}

RULES = [
    "self.s.matches(self.p)",
    "self.s.matches(self.s)",
    "self.l.all(x, x.matches(self.p))",
    "self.l.all(x, self.s.matches(x))",
    "self.s.matches('.{1000}.{1000}.{1000}b')",
    "self.s.matches('(.*a){500}$') || true",
    "self.l.exists(x, self.s.matches(x + self.p) || false)",
    "self.s.find(self.p) == ''",
    "self.s.findAll('').size() > 0",
    "self.s.findAll(self.p).size() > 0",
    "self.s.findAll('(a*)*b|a').size() > 0",
    "self.s.replace('', self.s).size() > 0",
    "self.s.replace('a', self.s).replace('a', self.s).replace('a', self.s).size() > 0",
    "self.s.replace(self.p, self.s).size() > 0",
    "self.s.split('').size() > 0",
    "self.s.split('').map(x, x + self.s).size() > 0",
    "self.s.split('').join(self.s).size() > 0",
    "self.l.join(self.s).size() > 0",
    "self.l.map(x, self.s + self.s).size() > 0",
    "self.l.map(x, self.s).join().size() > 0",
    "self.l.all(x, (self.s + self.s) != '')",
    "self.l.all(x, self.s.lowerAscii() == self.s.upperAscii() || true)",
    "self.l.all(x, self.s.contains(self.p) || true)",
    "self.s.contains(self.p) || self.s.indexOf(self.p) > 0 || self.s.lastIndexOf(self.p) > 0",
    "self.l.all(x, self.l.all(y, x == y || x != y))",
    "self.l.all(x, self.l.all(y, self.l.all(z, x != y || y != z || x == z)))",
    "self.l.all(x, self.l == self.l)",
    "self.l.all(x, self.l + self.l != [])",
    "self.l.all(x, !('zz' in self.l))",
    "self.l.filter(x, true).size() > 0",
    "self.l.map(x, [x, x]).flatten().size() > 0",
    "self.l.transformList(i, v, v + v).size() > 0",
    "self.l.transformMap(i, v, v + v).size() > 0",
    "self.l.transformMapEntry(i, v, {v: self.l}).size() > 0",
    "self.l.all(x, self.l.transformMap(i, v, v).size() > 0)",
    "self.l.sortBy(x, x).size() > 0",
    "self.n.sort().size() > 0 && self.n.distinct().size() > 0",
    "self.o.distinct().size() > 0",
    "sets.contains(self.l, self.l) && sets.equivalent(self.n, self.n)",
    "sets.intersects(self.o, self.o)",
    "lists.range(1000000000).size() > 0",
    "lists.range(self.i).size() > 0",
    "lists.range(10000).map(x, self.s + string(x)).size() > 0",
    "lists.range(10000).all(x, lists.range(10000).size() > 0)",
    "'%s%s%s%s'.format([self.s, self.s, self.s, self.s]).size() > 0",
    "self.p.format(self.l).size() > 0",
    "self.l.all(x, '%.999f'.format([1e308]).size() > 0)",
    "'%s'.format([self.x]).size() > 0",
    "[self.s].map(a, a + a).map(b, b + b).map(c, c + c).map(d, d + d).map(e, e + e).map(f, f + f).map(g, g + g)"
    ".map(h, h + h).map(i, i + i).map(j, j + j).map(k, k + k).size() > 0",
    "[self.n].map(a, a + a).map(b, b + b).map(c, c + c).map(d, d + d).map(e, e + e).map(f, f + f).map(g, g + g)"
    ".map(h, h + h).map(i, i + i).size() > 0",
    "optional.of(self.s).optMap(a, a + a).optMap(b, b + b).optMap(c, c + c).hasValue()",
    "strings.quote(strings.quote(strings.quote(self.s))).size() > 0",
    "bytes(self.s) == bytes(self.s) && string(bytes(self.s)).size() > 0",
    "self.m.all(k, self.m.all(j, self.m[k] != self.m[j] || k == j))",
    "self.m.all(k, self.m[k].matches(self.p) || true)",
    "self.x == self.x",
    "self == self",
    "size(self.n) > 0",
    "self.n.sum() > 0 && self.n.isSorted() && self.n.min() < 1 && self.n.indexOf(-1) > 0",
    "self.l.isSorted() && self.l.indexOf('zz') > 0 && self.l.max() > ''",
    "isURL(self.s) && url(self.s).getQuery().size() > 0",
    "isURL(self.p) && url(self.p).getQuery().size() > 0",
    "self.l.all(x, isQuantity(x) || isSemver(x) || isIP(x) || isCIDR(x) || isURL(x) || true)",
    "self.l.all(x, quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi'))",
    "self.l.all(x, !format.uri().validate(x).hasValue() || true)",
    "!format.uri().validate(self.s).hasValue() || !format.byte().validate(self.s).hasValue()",
    "self.stamps.all(t, t > timestamp('2020-01-01T00:00:00Z'))",
    "self.s == self.p || self.s < self.p || self.s.startsWith(self.p) || self.s.endsWith(self.p)",
    "self.o.map(x, self.o.map(y, y)).flatten().size() > 0",
    "self.l.map(x, self.l).size() > 0 && self.l.map(x, self.l) == self.l.map(x, self.l)",
    "self.l.reverse().slice(0, 1) == []",
    f"self.l.all(x, [{', '.join(['1'] * 500)}] != [])",
    "self.l.all(x, self.s.trim().substring(1).charAt(0) != 'b')",
]

_RANDOM = random.Random(7)
OBJECTS: dict[str, dict[str, Any]] = {
    "long texts": {"s": "a" * 1_400_000, "p": "a" * 1_400_000 + "b", "l": ["a" * 10] * 3000, "i": 10**9},
    "long text, short pattern": {"s": "a" * 2_000_000 + "!", "p": "(a|b|ab)*c", "l": ["a" * 100] * 9000},
    "middling texts": {"s": "a" * 50_000, "p": "a?" * 25_000, "l": ["(.*a){20}"] * 1500, "m": {"a": "b"}},
    "small texts": {"s": "".join(_RANDOM.choices("ab", k=4000)), "p": "[ab]*a[ab]{500}c", "l": ["a" * 30] * 600},
    "classes": {"s": "a" * 100, "p": "(?i)" + r"[^\pL]" * 10_000, "l": [r"\pL{1000}" * 10] * 100},
    "many texts": {"s": "a", "p": "%s" * 100_000, "l": ["a"] * 700_000},
    "many different texts": {"s": "a" * 100, "p": "%.999f" * 10_000, "l": [str(number) for number in range(9000)]},
    "some texts": {"s": "a" * 1000, "p": "http://a?" + "a=b&" * 100_000, "l": [str(number) for number in range(1500)]},
    "many numbers": {"n": list(range(400_000)), "s": "", "p": "", "l": [], "i": -5},
    "equal numbers": {"n": [1] * 1_400_000},
    "numbers": {"n": list(range(5000)), "l": ["a"] * 5000, "s": "b" * 10_000, "p": "b"},
    "many objects": {"o": [{}] * 900_000, "x": {}},
    "objects": {"o": [{"a": number} for number in range(2000)], "l": ["é" * 100] * 2000, "s": "é" * 100_000, "p": "é"},
    "a deep object": {"x": json.loads('{"a":' * 60 + "1" + "}" * 60), "o": [{"a": [[[[1]]]]}] * 3000},
    "a wide object": {"x": {f"key{number}": number for number in range(150_000)}, "m": {}},
    "a map": {"m": {f"key{number}": "a" * 20 for number in range(9000)}, "p": "(a*)*b", "l": ["a"], "s": "a"},
    "times": {"stamps": ["2021-01-01T00:00:00Z"] * 9000, "s": "http://" + "a" * 1_000_000, "l": [], "p": ""},
}


def main(names: Sequence[str]) -> None:
    """Print for each rule and each of these objects: their names, seconds of CPU, MiB, the causes."""
    from pilotage.schema.structural import StructuralSchema

    schemas = {}
    for rule in RULES:
        spec = {"type": "object", "properties": PROPERTIES, "x-kubernetes-validations": [{"rule": rule}]}
        schemas[rule] = StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    for schema in schemas.values():
        schema.validate({"spec": {"s": "a", "p": "b", "l": ["c"], "n": [1], "m": {}, "o": [{}], "x": {}}})
    for name in names:
        spec = OBJECTS[name]
        child = os.fork()  # a process for each object, because memory is not given back
        if not child:
            for rule, schema in schemas.items():
                if spec.keys() >= set(re.findall(r"\bself\.(\w+)", rule)):
                    print(json.dumps([name, rule, *_cost(schema, {"spec": spec})]))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


def _cost(schema: Any, document: Any) -> tuple[float, float, list[str]]:
    rules = schema._rules  # the rules alone: the schema is checked before, at its own cost
    before, begin = _memory(), time.process_time()
    found = rules.validate(document)
    took = time.process_time() - begin
    return took, _memory() - before, [cause.message[:200] for cause in found]


def _memory() -> float:
    """The most memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:] or [*OBJECTS])
