"""Quantities: exact numbers with Kubernetes' suffixes (`500m`, `1.5Gi`, `12e6`).

A quantity is a whole number of billionths: finer values are rounded away from zero when they are parsed, as Kubernetes
does ("if you want some, you get some"). With a binary suffix the magnitude is capped at 2^63 - 1, also as Kubernetes
does. Decimal ones are not capped, but a text with more than 256 characters or an exponent above 256 is rejected, so
that a text of a few bytes cannot become a number of megabytes.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from functools import total_ordering
from typing import Literal, final

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""The powers of ten of suffixes."""
BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
"""The powers of two of suffixes."""
WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NANO = 10**9
_MAXIMUM = 2**63 - 1
_MAX_TEXT = 256
_MAX_EXPONENT = 256
_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE][-+]?[0-9]+")
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIX = {0: "", **{exponent: suffix for suffix, exponent in BINARY_EXPONENTS.items()}}
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_EXACT = Context(prec=_MAX_TEXT + _MAX_EXPONENT + 18)


@final
@total_ordering
class Quantity:
    """An exact number, read from text such as `100m` or `1Gi`, or from a plain number.

    Equal amounts are equal however they were written. `str()` gives the text that was read; `canonical()`
    gives Kubernetes' one text for an amount, and is what the result of a calculation prints.
    """

    __slots__ = ("_format", "_nanos", "_wire")

    _nanos: int
    _format: Format
    _wire: str | int

    def __init__(self, value: str | int | float | Decimal = 0) -> None:
        if isinstance(value, Decimal):
            value = str(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError(f"a quantity is a string or a number, not {type(value).__name__}")
        text = value.strip() if isinstance(value, str) else _digits(value)
        self._nanos, self._format = _parse(text)
        self._wire = text if isinstance(value, float) else value  # a custom resource takes no fraction as a number

    @property
    def format(self) -> Format:
        """The family of suffixes that it was written with."""
        return self._format

    @property
    def wire(self) -> str | int:
        """The wire form: the text that was read (a fraction as text), or the canonical text of a result."""
        return self._wire

    def canonical(self) -> str:
        """Kubernetes' one text for this amount: no fraction, the largest suffix that loses nothing."""
        return _canonical(self._nanos, self._format)

    def value(self) -> int:
        """The whole number, rounded up (away from zero)."""
        return _away_from_zero(self._nanos, _NANO)

    def milli_value(self) -> int:
        """Thousandths, rounded up (away from zero)."""
        return _away_from_zero(self._nanos, 10**6)

    def as_decimal(self) -> Decimal:
        """The exact amount."""
        return Decimal(self._nanos).scaleb(-9, context=_EXACT).normalize(_EXACT)

    def is_zero(self) -> bool:
        return self._nanos == 0

    def __str__(self) -> str:
        return str(self._wire)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __float__(self) -> float:
        return self._nanos / _NANO

    def __bool__(self) -> bool:
        return self._nanos != 0

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __eq__(self, other: object) -> bool:
        return self._nanos == other._nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self._nanos < other._nanos if isinstance(other, Quantity) else NotImplemented

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return _quantity(self._nanos + other._nanos, self._format if self._nanos else other._format)

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return _quantity(self._nanos - other._nanos, self._format if self._nanos else other._format)

    def __mul__(self, factor: int) -> Quantity:
        if not isinstance(factor, int):
            return NotImplemented
        return _quantity(self._nanos * factor, self._format)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return _quantity(-self._nanos, self._format)

    def __abs__(self) -> Quantity:
        return _quantity(abs(self._nanos), self._format)

    def __reduce__(self) -> tuple[type[Quantity], tuple[str | int]]:
        return Quantity, (self._wire,)

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, memo: object) -> Quantity:
        return self  # it never changes


def _quantity(nanos: int, format: Format) -> Quantity:  # noqa: A002 - Kubernetes' word
    made = object.__new__(Quantity)
    made._nanos = nanos
    made._format = format
    made._wire = _canonical(nanos, format)
    return made


def _digits(number: float) -> str:
    if (
        isinstance(number, int) and abs(number) >= 10**_MAX_TEXT
    ):  # before printing, which costs the square of the length
        raise ValueError(f"a quantity has at most {_MAX_TEXT} digits")
    return str(number)


def _parse(text: str) -> tuple[int, Format]:
    if len(text) > _MAX_TEXT:
        raise ValueError(f"a quantity has at most {_MAX_TEXT} characters, this has {len(text)}")
    match = _TEXT.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"{WRONG_FORM}: {text!r}")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    amount = int(whole + fraction)
    if suffix in BINARY_EXPONENTS:
        nanos, form = _binary(amount << BINARY_EXPONENTS[suffix], len(fraction))
    else:
        exponent, form = _exponent(text, suffix)
        nanos = _decimal(text, amount, exponent - len(fraction))
    return (-nanos if sign == "-" else nanos), form


def _binary(amount: int, places: int) -> tuple[int, Format]:
    nanos = min(_away_from_zero(amount * _NANO, 10**places), _MAXIMUM * _NANO)
    return nanos, "DecimalSI" if 0 < nanos < _NANO else "BinarySI"


def _exponent(text: str, suffix: str) -> tuple[int, Format]:
    known = DECIMAL_EXPONENTS.get(suffix)
    if known is not None:
        return known, "DecimalSI"
    if not _EXPONENT.fullmatch(suffix):
        raise ValueError(f"{_WRONG_SUFFIX}: {text!r}")
    return int(suffix[1:]), "DecimalExponent"


def _decimal(text: str, amount: int, exponent: int) -> int:
    if amount == 0:
        return 0
    if exponent > _MAX_EXPONENT:
        raise ValueError(f"the exponent of a quantity is at most {_MAX_EXPONENT}: {text!r}")
    if exponent >= -9:
        return int(amount * 10 ** (exponent + 9))
    # Anything below a billionth counts as one, so the power need not be larger than the amount is long.
    return _away_from_zero(amount, 10 ** min(-9 - exponent, _MAX_TEXT + 1))


def _away_from_zero(amount: int, divisor: int) -> int:
    magnitude = -(-abs(amount) // divisor)
    return magnitude if amount >= 0 else -magnitude


def _canonical(nanos: int, format: Format) -> str:  # noqa: A002 - Kubernetes' word
    if nanos == 0:
        return "0"
    if format == "BinarySI" and abs(nanos) >= 1024 * _NANO and nanos % _NANO == 0:
        number, exponent = nanos // _NANO, 0
        while number % 1024 == 0 and exponent < 60:
            number, exponent = number // 1024, exponent + 10
        return f"{number}{_BINARY_SUFFIX[exponent]}"
    number, exponent = nanos, -9
    # Beyond E there is no suffix; Kubernetes drops it there, which changes the number, so we keep more digits instead.
    limit = 18 if format != "DecimalExponent" else _MAX_TEXT + _MAX_EXPONENT
    while number % 1000 == 0 and exponent < limit:
        number, exponent = number // 1000, exponent + 3
    if format == "DecimalExponent":
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIX[exponent]}"
