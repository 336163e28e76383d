"""The version of this package."""

from __future__ import annotations


def installed_version(otherwise: str = "") -> str:
    """The version that is installed, such as `0.1.0`; `otherwise` if this is a source tree that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slower than a whole command line

    try:
        return version("pilotage")
    except PackageNotFoundError:
        return otherwise
