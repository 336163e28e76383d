"""The types of flags: each reads the text of a flag, or raises what argparse reports."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def controllers(text: str) -> tuple[str, ...]:
    """Controllers as kube-controller-manager's flag selects them."""
    from pilotage.errors import InvalidDefinition
    from pilotage.server.controllers import selected

    found = names(text)
    try:
        selected(found)
    except InvalidDefinition as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return found


def count(text: str) -> int:
    """A number that is not negative."""
    return _whole(text, 0, math.inf, "of 0 or more")


def positive(text: str) -> int:
    return _whole(text, 1, math.inf, "of 1 or more")


def seconds(text: str) -> float:
    """A number of seconds, with or without the unit `s`."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = -1
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number


def size(text: str) -> int:
    """A number of bytes, as Kubernetes writes quantities."""
    from pilotage.meta.scalars.quantity import Quantity

    try:
        found = Quantity(text).value()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 64Mi or 1Gi") from error
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of 1 byte or more")
    return found


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` (loopback) or `[IPv6]:PORT`."""
    from pilotage.errors import InvalidDefinition
    from pilotage.net.sockets import parse_bind_address

    try:
        parsed = parse_bind_address(text)
    except InvalidDefinition:
        parsed = None
    if parsed is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:6443 or [::1]:6443")
    host, port = parsed
    return host or "127.0.0.1", port


def bind_address(text: str) -> str:
    """An address to listen on: `HOST:PORT`, or `0` for none."""
    from pilotage.errors import InvalidDefinition
    from pilotage.net.sockets import parse_bind_address

    try:
        parse_bind_address(text)
    except InvalidDefinition as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def log_level(text: str) -> str:
    from pilotage.telemetry.levels import parsed

    try:
        parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def number(text: str) -> int:
    """A count, zero or more."""
    return _whole(text, 0, 999999, "from 0 to 999999")


def _whole(text: str, least: int, most: float, which: str) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number {which}")
    return int(text)


def mode(text: str) -> int:
    """A file mode in octal digits."""
    if not re.fullmatch("0?o?[0-7]{3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a file mode; give three octal digits, such as 0660")
    return int(text[-3:], 8)


def uid(text: str) -> int:
    """The uid of a user given by number or name."""
    import pwd

    return _id(text, "user", lambda name: pwd.getpwnam(name).pw_uid)


def gid(text: str) -> int:
    """The gid of a group given by number or name."""
    import grp

    return _id(text, "group", lambda name: grp.getgrnam(name).gr_gid)


def _id(text: str, kind: str, look_up: Callable[[str], int]) -> int:
    if text.isascii() and text.isdecimal() and int(text) < 2**32 - 1:
        return int(text)
    try:
        return look_up(text)
    except KeyError:
        raise argparse.ArgumentTypeError(f"{kind} {text!r} does not exist") from None
