"""The string formats that Kubernetes validates, each in linear time. It ignores unknown formats."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

from pilotage.meta.validation.names import dns_1123_label, dns_1123_subdomain

Check = Callable[[str], bool]


def checker(name: str) -> Check | None:
    """The check of a format; None for one that Kubernetes ignores. Dashes are ignored (`date-time`, `datetime`)."""
    return _CHECKS.get(name.replace("-", ""))


def _pattern(pattern: str, flags: int = re.ASCII) -> Check:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str) -> Check:
    return _pattern(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}-?{variant}-?[0-9a-f]{{12}}", re.ASCII | re.IGNORECASE)


_LONGEST = 1024
"""The characters of a text that are searched for durations."""
_DIGITS = "0123456789"
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})", re.ASCII)
_PORT = re.compile(r"(:\d*)?", re.ASCII)
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_GO_DURATION = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+")
_WORDS_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_NANOSECONDS = (
    (("ns",), "nano", 1),
    (("us", "µs"), "micro", 10**3),
    (("ms",), "milli", 10**6),
    (("s",), "sec", 10**9),
    (("m",), "min", 60 * 10**9),
    (("h", "hr"), "hour", 3600 * 10**9),
    (("d",), "day", 24 * 3600 * 10**9),
    (("w", "wk"), "week", 7 * 24 * 3600 * 10**9),
)
"""The units of durations in words: short names, and how long ones begin."""
_ATOM = re.compile(r"[^\s.@()<>\[\]:;,\\\"\x00-\x1f\x7f]+")
_QUOTED_LOCAL = re.compile(r'"[^"\\\x00-\x1f]*"')
_CARD = re.compile(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}",
    re.ASCII,
)


def _uri(text: str) -> bool:
    """An absolute URI, or a path that starts with a slash, without spaces and control characters."""
    if not text or any(character <= " " or character == "\x7f" for character in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    host = parts.netloc.rpartition("@")[2]
    port = host.rpartition("]")[2] if host.startswith("[") else "".join(host.rpartition(":")[1:] if ":" in host else ())
    escaped = parts.netloc + (parts.path if parts.path.startswith("/") else "")
    if _PORT.fullmatch(port) is None or _BAD_ESCAPE.search(escaped):
        return False
    return text.startswith("/") or bool(parts.scheme)


def _email(text: str) -> bool:
    """One address, with or without a name before it (`Ann <ann@example.com>`)."""
    if text.endswith(">"):
        text = text.rpartition("<")[2][:-1]
    local, at, domain = text.strip().rpartition("@")
    literal = len(domain) > 2 and domain[0] == "[" and domain[-1] == "]"
    quoted = _QUOTED_LOCAL.fullmatch(local) is not None
    return bool(at) and (quoted or _is_dotted(local)) and (literal or _is_dotted(domain))


def _is_dotted(text: str) -> bool:
    return all(_ATOM.fullmatch(part) for part in text.split("."))


def _hostname(text: str) -> bool:
    *labels, top = text.split(".")
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in (*labels, top)):
        return False
    if not labels:  # a single label has no dash but after its first character
        return _all_in_hosts(top[:1]) and (top[1:] in ("", "-") or _all_in_hosts(top[1:].removeprefix("-")))
    return len(top) > 1 and all(map(_is_letter, top)) and all(map(_is_host_label, labels))


def _is_host_label(label: str) -> bool:
    return _all_in_hosts(label[:1] + label[-1:]) and _all_in_hosts(label.replace("-", "0"))


def _all_in_hosts(text: str) -> bool:
    """Whether there is a text of letters, symbols and digits, as Go's pattern has them."""
    return bool(text) and all(each in _DIGITS or unicodedata.category(each)[0] in "LS" for each in text)


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] == "L"


def _ip(mark: str) -> Check:
    """Checks addresses with this character: as in Kubernetes, ::ffff:1.2.3.4 is of both families."""

    def check(text: str) -> bool:
        if len(text) > 45 or "%" in text or mark not in text:
            return False
        try:
            ipaddress.ip_address(_without_zeros(text))
        except ValueError:
            return False
        return True

    return check


def _without_zeros(text: str) -> str:
    """An IPv4 address without leading zeros, which Kubernetes reads as decimal digits."""
    return _LEADING_ZEROS.sub("", text) if ":" not in text else text


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(text) > 49 or "%" in address:
        return False
    try:
        ipaddress.ip_network(_without_zeros(text), strict=False)
    except ValueError:
        return False
    return True


def _mac(text: str) -> bool:
    for separator, width in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(separator)
        if len(parts) > 1:
            size = len(parts) * width // 2
            return size in (6, 8, 20) and all(re.fullmatch(rf"[0-9a-fA-F]{{{width}}}", part) for part in parts)
    return len(text) in (12, 16, 40) and re.fullmatch("[0-9a-fA-F]+", text) is not None


def _isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if re.fullmatch(r"[0-9]{9}[0-9X]", digits) is None:
        return False
    total = sum((10 - index) * (10 if digit == "X" else int(digit)) for index, digit in enumerate(digits))
    return total % 11 == 0


def _isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if re.fullmatch(r"[0-9]{13}", digits) is None:
        return False
    return sum(int(digit) * (3 if index % 2 else 1) for index, digit in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if _CARD.fullmatch(digits) is None:
        return False
    doubled = [int(digit) * (2 if index % 2 else 1) for index, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _rgb_color(text: str) -> bool:
    part = r"\s*(0|[1-9][0-9]{0,2})\s*"
    found = re.fullmatch(rf"rgb\({part},{part},{part}\)", text)
    return found is not None and all(int(part) <= 255 for part in found.groups())


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        return False
    try:
        date.fromisoformat("2000" + text[4:] if text.startswith("0000") else text)  # a leap year, too
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    """A date and a time, as Kubernetes parses them: what follows another `t` is ignored."""
    day, *rest = text.lower().split("t")
    return bool(rest) and _date(day) and _TIME.fullmatch(rest[0]) is not None


def _duration(text: str) -> bool:
    return go_duration(text) is not None


def go_duration(text: str) -> str | None:
    """A duration as Go writes it, such as `90m`; None if the text is not a duration.

    As in Kubernetes, numbers with units anywhere in a text are a duration, too: `1 day 2 hours`.
    """
    if text == "0" or _GO_DURATION.fullmatch(text):
        return text
    counts = [(int(number), _nanoseconds(unit.lower())) for number, unit in _WORDS_DURATION.findall(text[:_LONGEST])]
    if any(number >= 2**63 for number, _ in counts) or not any(unit for _, unit in counts):
        return None
    return f"{sum(number * unit for number, unit in counts)}ns"


def _nanoseconds(unit: str) -> int:
    """How long a unit is; 0 if there is none of this name."""
    found = (size for names, start, size in _NANOSECONDS if unit in names or unit.startswith(start))
    return next(found, 0)


_HEX4 = "[0-9a-f]{4}"
_CHECKS: dict[str, Check] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "uri": _uri,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _ip("."),
    "ipv6": _ip(":"),
    "cidr": _cidr,
    "mac": _mac,
    "uuid": _uuid(_HEX4, _HEX4),
    "uuid3": _uuid("3[0-9a-f]{3}", _HEX4),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _pattern(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _pattern("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _rgb_color,
    "byte": _byte,
    "password": lambda text: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: not dns_1123_label(text),
    "k8slongname": lambda text: not dns_1123_subdomain(text),
}
