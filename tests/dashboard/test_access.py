"""Who may read the page, and what it may do in a browser."""

from __future__ import annotations

import base64
import hashlib

import msgspec
import pytest

from pilotage.dashboard.access import has_token, policy_of, refusal
from pilotage.dashboard.page import embedded
from pilotage.http.messages import Headers, HTTPRequest

HOSTS = ("127.0.0.1:8080", "localhost:8080", "[::1]:8080")


def asked(*headers: tuple[str, str], method: str = "GET") -> HTTPRequest:
    return HTTPRequest(method, "/ui/api/overview", Headers(headers))


def status(request: HTTPRequest) -> int:
    found = refusal(request, HOSTS, "http")
    return found.status if found is not None else 200


@pytest.mark.parametrize("host", [*HOSTS, "LOCALHOST:8080"])
def test_a_request_to_an_own_name_is_answered(host: str) -> None:
    assert status(asked(("Host", host))) == 200
    assert status(asked(("Host", host), method="HEAD")) == 200


@pytest.mark.parametrize("host", ["attacker.example:8080", "127.0.0.1", "127.0.0.1:80", "", "localhost:8080.evil"])
def test_a_name_that_was_bound_to_this_machine_is_refused(host: str) -> None:
    assert status(asked(("Host", host))) == 403


def test_a_request_has_one_name() -> None:
    assert status(asked()) == 403
    assert status(asked(("Host", HOSTS[0]), ("Host", "attacker.example"))) == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "x" * 100])
def test_the_page_is_read_only(method: str) -> None:
    found = refusal(asked(("Host", HOSTS[0]), method=method), HOSTS, "http")
    assert found is not None
    assert (found.status, dict(found.headers)["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "origin", ["http://attacker.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:8081", "http://localhost"]
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    assert status(asked(("Host", HOSTS[0]), ("Origin", origin))) == 403


def test_the_own_origin_is_answered() -> None:
    assert status(asked(("Host", HOSTS[0]), ("Origin", "http://127.0.0.1:8080"))) == 200
    assert status(asked(("Host", HOSTS[0]), ("Origin", "http://127.0.0.1:8080"), ("Origin", "http://a.example"))) == 403


@pytest.mark.parametrize(
    ("site", "answer"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_a_browser_states_which_site_asks(site: str, answer: int) -> None:
    assert status(asked(("Host", HOSTS[0]), ("Sec-Fetch-Site", site))) == answer


def test_a_link_of_another_site_may_open_the_page_but_no_frame_and_no_script() -> None:
    link = ("Host", HOSTS[0]), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")
    assert status(asked(*link, ("Sec-Fetch-Dest", "document"))) == 200
    assert status(asked(*link, ("Sec-Fetch-Dest", "iframe"))) == 403
    assert status(asked(*link[:2], ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"))) == 403


@pytest.mark.parametrize(
    ("header", "admitted"),
    [
        ("Bearer secret", True),
        ("bearer secret", True),
        ("Bearer secre", False),
        ("Bearer secrets", False),
        ("Basic secret", False),
        ("secret", False),
        ("Bearer", False),
        ("Bearer sécret", False),
        ("", False),
    ],
)
def test_the_token_is_needed(header: str, admitted: bool) -> None:
    assert has_token(asked(("Authorization", header)), "secret") is admitted


def test_a_request_without_a_header_has_no_token() -> None:
    assert not has_token(asked(), "secret")


def test_the_policy_allows_the_own_script_and_style_alone() -> None:
    page = b"<style>p{}</style><script>run()</script><script type='application/json'>{}</script>"
    policy = dict(part.split(" ", 1) for part in policy_of(page).split("; "))
    digest = base64.b64encode(hashlib.sha256(b"run()").digest()).decode()
    assert policy["script-src"] == f"'sha256-{digest}'"
    assert policy["style-src"].startswith("'sha256-")
    assert (policy["default-src"], policy["connect-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
    assert "unsafe" not in policy_of(page)


def test_a_page_without_a_script_may_run_none() -> None:
    assert "script-src 'none'; style-src 'none'" in policy_of(b"<p>")


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--<script>", "&amp;", "\u2028\u2029", "]]>"])
def test_a_text_does_not_leave_the_element_that_it_is_in(text: str) -> None:
    data = embedded(msgspec.json.encode({"text": text}))
    assert msgspec.json.decode(data) == {"text": text}
    assert not any(character in data.decode() for character in "<>&\u2028\u2029")
