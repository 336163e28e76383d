"""A quantity as Go keeps it in memory: `resource.Quantity` printed with its private fields.

A quantity with few digits is an int64 with a scale; another one is an inf.Dec. The text from which it was parsed is
kept where it is certainly canonical.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal

_QUANTITY = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([A-Za-z][A-Za-z0-9+-]*)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MOST_DIGITS = 18
_MOST_BINARY_DIGITS = 15
_LEAST_SCALE = -9
_INT64 = 2**63
_WORD = 2**64 - 1
_CONTEXT = Context(prec=1000)


def dump_quantity(text: str) -> str:
    """The Go struct of a quantity that the API server has stored."""
    if text == "0":
        return _dump(0, 0, "<nil>", text, "DecimalSI")
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    sign, whole, fraction, suffix = found[1], found[2] or "0", found[3] or "", found[4] or ""
    form, exponent = _form(suffix)
    small = _small(sign, whole, fraction, form, exponent)
    if small is None:
        return _dump_large(Decimal(f"{sign}{whole}.{fraction or 0}"), form, exponent)
    value, scale, is_canonical = small
    return _dump(value, scale, "<nil>", text if is_canonical else "", form)


def _form(suffix: str) -> tuple[str, int]:
    if suffix in _BINARY:
        return "BinarySI", _BINARY[suffix]
    if suffix in _DECIMAL:
        return "DecimalSI", _DECIMAL[suffix]
    return "DecimalExponent", int(suffix[1:])


def _small(sign: str, whole: str, fraction: str, form: str, exponent: int) -> tuple[int, int, bool] | None:
    """The int64, its scale, and whether the text is certainly canonical; None for a number with too many digits."""
    digits = whole + fraction
    if form == "BinarySI":
        if fraction or _MOST_BINARY_DIGITS - len(whole) - exponent * 3 // 10 - 1 < 0:
            return None
        given = int(whole)
        value, scale, is_canonical = given << exponent, 0, bool(given & 7)
    else:
        scale = exponent - len(fraction)
        if len(digits) > _MOST_DIGITS or scale < _LEAST_SCALE:
            return None
        value, is_canonical = int(digits), scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return (-value if sign == "-" else value, scale, is_canonical) if value < _INT64 else None


def _dump_large(number: Decimal, form: str, exponent: int) -> str:
    with_suffix = number * 2**exponent if form == "BinarySI" else _CONTEXT.scaleb(number, exponent)
    if form == "BinarySI" and with_suffix >= _INT64:
        return _dump(0, 0, _dump_decimal(_INT64 - 1, 0), "", form)
    if form == "BinarySI" and 0 < with_suffix < 1:
        form = "DecimalSI"
    rounded = _CONTEXT.scaleb(with_suffix, -_LEAST_SCALE).to_integral_value(ROUND_UP, _CONTEXT)
    return _dump(0, 0, _dump_decimal(int(rounded), -_LEAST_SCALE), "", form)


def _dump_decimal(unscaled: int, scale: int) -> str:
    words, rest = [], abs(unscaled)
    while rest:
        words.append(str(rest & _WORD))
        rest >>= 64
    negative = "true" if unscaled < 0 else "false"
    return f"{{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat)[{' '.join(words)}]}} scale:(inf.Scale){scale}}}"


def _dump(value: int, scale: int, decimal: str, text: str, form: str) -> str:
    return (
        f"{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}} s:(string){text} Format:(resource.Format){form}}}"
    )
