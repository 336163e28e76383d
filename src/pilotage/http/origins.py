"""Where a request of a browser comes from: refuses what pages of other sites send to a server of this machine.

Such a page may send requests to a loopback address, and with a name of its own that it binds to that address (DNS
rebinding) it could even read the answers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from pilotage.http.messages import HTTPRequest

_ALLOWED_SITES = ("", "same-origin", "none")
"""Values of Sec-Fetch-Site: none is an address that the user typed. A link of another site may open a page: that site
cannot read it."""


def foreign(request: HTTPRequest, is_host: Callable[[str], bool], scheme: str = "http") -> str:
    """Why a request may come from a page of another site; empty if it does not. `is_host` returns whether this server
    is reached by the name and the port of a header Host, in lower case."""
    headers = request.headers
    host = headers.get("host").lower()
    if len(headers.all("host")) != 1 or not is_host(host):
        return "the header Host names another server"
    origins = headers.all("origin")
    if origins and [each.lower() for each in origins] != [f"{scheme}://{host}"]:
        return "requests of other origins are refused"
    is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if headers.get("sec-fetch-site").lower() not in _ALLOWED_SITES and not is_opened:
        return "requests of other sites are refused"
    return ""


def is_address(host: str) -> bool:
    """Whether a header Host has an IP address or `localhost`, with any port: no name that a site could bind to this
    machine."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not name:  # without a port
        name, port = host, ""
    if port and not port.isdecimal():
        return False
    if name == "localhost":
        return True
    try:
        if name.startswith("[") and name.endswith("]"):
            return bool(ipaddress.IPv6Address(name[1:-1]))
        return bool(ipaddress.IPv4Address(name))
    except ValueError:
        return False
