"""Parsers for the values of command-line arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable


def number(text: str) -> int:
    """A count, zero or more."""
    if not (text.isascii() and text.isdecimal() and int(text) < 10**6):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 999999")
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
