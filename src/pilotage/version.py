"""The version of this package."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def installed_version(otherwise: str = "") -> str:
    """The version that is installed, such as `0.1.0`; `otherwise` if this is a source tree that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slower than a whole command line

    try:
        return version("pilotage")
    except PackageNotFoundError:
        return otherwise


def installed_source() -> str:
    """What pip installed this package from, as an argument of pip: the URL of a folder, a file or a repository. Empty
    if that was a package index, or if it is not known."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = json.loads(distribution("pilotage").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    return source_of(found)


def source_of(direct_url: dict[str, Any]) -> str:
    """The argument of pip for what a `direct_url.json` has."""
    url = str(direct_url.get("url", ""))
    repository = direct_url.get("vcs_info")
    return f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
