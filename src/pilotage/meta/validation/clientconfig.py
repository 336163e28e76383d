"""How a webhook is called: the rules of `clientConfig`, of conversion webhooks and of admission webhooks."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required, shown
from pilotage.meta.validation.names import dns_1123_subdomain

_MAX_PORT = 65535
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}")
_PEM_BLOCK = re.compile(rb"-----BEGIN (?P<label>[A-Z0-9 ]+)-----\n.+?\n-----END (?P=label)-----", re.DOTALL)


def client_config_causes(client: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with the address of a webhook: a URL or a service, and not both."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(at, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_causes(f"{at}.url", url)
    else:
        yield from _service_causes(f"{at}.service", service or {})


def ca_bundle_problem(bundle: str) -> str:
    """Why certificates of authorities, PEM in base64, cannot be loaded; empty if one of them can, or none is given."""
    import ssl  # 10 ms, and few definitions have a bundle

    blocks = list(_PEM_BLOCK.finditer(base64.b64decode(bundle)))
    if not bundle:
        return ""
    if not blocks:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    problem = "unable to load root certificates: no valid certificate authority data seen"
    for block in blocks:
        if block["label"] != b"CERTIFICATE":
            continue
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block[0].decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            problem = f"unable to load root certificates: failed to parse certificate: {error}"
        else:
            return ""
    return problem


def _url_causes(at: str, url: str) -> Iterator[Cause]:
    wanted = "desired format: https://host[/path]"
    problem = _url_problem(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        yield required(at, f"url must be a valid URL: {problem}; {wanted}")
        return
    if parts.scheme != "https":
        yield invalid(at, parts.scheme, f"'https' is the only allowed URL scheme; {wanted}")
    if not parts.netloc:
        yield invalid(at, parts.netloc, f"host must be specified; {wanted}")
    for value, words in (
        (parts.netloc.rpartition("@")[0], "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ):
        if value:
            yield invalid(at, value, f"{words} not permitted in the URL")


def _url_problem(url: str) -> str:
    """Why Go cannot parse a URL that Python can."""
    if any(each < " " or each == "\x7f" for each in url):
        return f"parse {shown(url)}: net/url: invalid control character in URL"
    if escape := _BAD_ESCAPE.search(url):
        return f"parse {shown(url)}: invalid URL escape {shown(escape[0])}"
    return ""


def _service_causes(at: str, service: Mapping[str, Any]) -> Iterator[Cause]:
    for key in ("name", "namespace"):
        if not service.get(key):
            yield required(f"{at}.{key}")
    port = service.get("port", 443)
    if not 1 <= port <= _MAX_PORT:
        yield invalid(f"{at}.port", port, f"port is not valid: must be between 1 and {_MAX_PORT}, inclusive")
    path = service.get("path")
    if path is not None:
        yield from _path_causes(f"{at}.path", path)


def _path_causes(at: str, path: str) -> Iterator[Cause]:
    if path in ("", "/"):
        return
    if not path.startswith("/"):
        yield invalid(at, path, "must start with a '/'")
    rest = path.encode()[1:].decode(errors="replace")  # kube-apiserver skips a byte, whatever it is
    segments = rest.removesuffix("/").split("/")
    for index, segment in enumerate(segments):
        if not segment:
            yield invalid(at, path, f"segment[{index}] may not be empty")
            continue
        yield from (invalid(at, path, f"segment[{index}]: {problem}") for problem in dns_1123_subdomain(segment))
