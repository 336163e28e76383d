"""Kubernetes' functions in CEL, by expressions that must be true."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.cel.expression import CompileError
from pilotage.schema.structural import StructuralSchema


def holds(rule: str, value: Any = "x") -> list[str]:
    spec = {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-validations": [{"rule": rule}]}
    schema = StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    return [cause.message for cause in schema.validate({"spec": value})]


TRUE = [
    "isQuantity('1.5Gi') && !isQuantity('1 Gi')",
    "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1m').isLessThan(quantity('1'))",
    "quantity('1').compareTo(quantity('1000m')) == 0 && quantity('1') == quantity('1000m')",
    "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000) == quantity('30k')",
    "sign(quantity('-3')) == -1 && quantity('3k').asInteger() == 3000 && !quantity('1500m').isInteger()",
    "quantity('1500m').asApproximateFloat() == 1.5",
    "isSemver('1.2.3-rc.1+b') && !isSemver('v1.2') && isSemver('v1.2', true) && !isSemver('1.2.3-01')",
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    "semver('1.2.3').isGreaterThan(semver('1.2.3-rc.10')) && semver('1.2.3-rc.9').isLessThan(semver('1.2.3-rc.10'))",
    "semver('01.02', true) == semver('1.2.0')",
    "isURL('https://u@h.com:80/a?b=c') && !isURL('h.com') && isURL('/path')",
    "url('https://h.com:80/a b'.replace(' ', '%20') + '?k=1&k=2').getQuery() == {'k': ['1', '2']}",
    "url('https://[::1]:80/p').getHost() == '[::1]:80' && url('https://[::1]:80/p').getHostname() == '::1'",
    "url('https://h:80/p').getPort() == '80' && url('https://h/p').getPort() == '' && url('/p').getScheme() == ''",
    "url('https://h/a/b').getEscapedPath() == '/a/b'",
    "isIP('::1') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && ip.isCanonical('::1') && !ip.isCanonical('0::1')",
    "ip('127.0.0.1').family() == 4 && ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
    "ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
    "ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
    "ip('ff02::1').isLinkLocalMulticast() && !ip('ff05::1').isLinkLocalMulticast()",
    "string(ip('::0001')) == '::1' && ip('::1') == ip('0::1')",
    "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && cidr('10.1.2.3/8').prefixLength() == 8",
    "cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "string(cidr('10.1.2.3/8')) == '10.1.2.3/8' && !cidr('10.0.0.0/8').containsIP('::1')",
    "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
    "'1 2 3'.findAll('[0-9]') == ['1', '2', '3'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
    "[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
    "[1, 2].sum() == 3 && [1.5, 2.0].sum() == 3.5 && [3, 1].min() == 1 && ['a', 'b'].max() == 'b'",
    "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2 && [1].indexOf(2) == -1",
    "'abca'.indexOf('a') == 0 && 'abca'.lastIndexOf('a') == 3",
    "!format.dns1123Label().validate('my-label').hasValue()",
    "format.dns1123Label().validate('My_Label').hasValue() && format.dns1123Label().validate('_').value().size() == 1",
    "format.named('labelValue').hasValue() && !format.named('nosuch').hasValue()",
    "!format.named('qualifiedName').value().validate('a.b/c').hasValue()",
    "!format.dns1123LabelPrefix().validate('my-').hasValue() && format.dns1035Label().validate('1a').hasValue()",
    "format.labelValue().validate('a--').value()[0].startsWith('a valid label must be an empty string or consist of')",
    "format.uri().validate('a--').value() == ['parse \"a--\": invalid URI for request']",
    "format.byte().validate('A_b').value() == ['invalid base64']",
    "format.dns1123Subdomain().validate('A_b').value()[0].contains('regex used for validation is')",
    "format.uuid().validate('x').hasValue() && !format.date().validate('2020-01-01').hasValue()",
    "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])",
    "['a', 'b'].join('-') == 'a-b' && 'A'.lowerAscii() == 'a' && 'a,b'.split(',').size() == 2",
    "optional.of(1).hasValue() && optional.none().orValue(2) == 2 && {'a': 1}.?b.orValue(3) == 3",
    "[1, 2].all(i, v, i < v) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "sign(quantity('-3')) == -1 && [3, 1].sort() == [1, 3] && [1, 1].distinct() == [1] && lists.range(2) == [0, 1]",
    "dyn(1) == 1.0 && timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020",
]


@pytest.mark.parametrize("rule", TRUE)
def test_the_functions_return_what_kubernetes_functions_return(rule: str) -> None:
    assert holds(rule) == []


@pytest.mark.parametrize("rule", ["math.greatest(1, 2) == 2", "cel.bind(x, 2, x) == 2", "base64.encode(b'') == ''"])
def test_what_kubernetes_does_not_offer_is_refused(rule: str) -> None:
    with pytest.raises(CompileError, match="undeclared reference"):
        holds(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "sign(quantity('nope')) == 1",
        "semver('1').major() == 1",
        "url('nope').getHost() == ''",
        "ip('nope').family() == 4",
        "cidr('10.0.0.0').prefixLength() == 8",
        "[].min() == 1",
        "self.isGreaterThan(quantity('1'))",
        "quantity('1500m').asInteger() == 1",
        "'a'.find('a' + '(') == ''",
        "format.named('nosuch').value().validate('x').hasValue()",
        "sign(quantity('1e999999999')) == 1",
    ],
)
def test_what_cannot_be_read_is_an_error_of_the_rule(rule: str) -> None:
    (message,) = holds(rule)
    assert "rule: " in message
