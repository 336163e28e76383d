"""Health checks over HTTP: all of them at one path, and each at its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.telemetry.logs import logger

log = logger("pilotage.health")

Check = Callable[[], Awaitable[object] | object]
"""A health check, async or not. It fails by raising, or by returning False."""

CHECK_SECONDS = 5.0
"""How long one check may take."""


_WITHHELD = "reason withheld"


def ping() -> None:
    """The check that always passes."""


class HealthHandler:
    """Serves one path: `/healthz` for all checks, `/healthz/NAME` for one.

    200 if all pass, else 500. `?verbose` lists them; a failure always does. The reason of a failure is not in the
    response, except for an error with a `public_reason`, a text without secrets that helps to fix it. Each reason is
    logged when the check begins to fail, and again when the error changes: its class, or its `state`.
    `?exclude=NAME` skips a check; an unknown name has no effect.
    """

    def __init__(self, path: str, checks: Callable[[], Mapping[str, Check]]) -> None:
        self._path = path
        self._checks = checks
        self._failing: dict[str, _Failure] = {}
        self._known: tuple[str, ...] = ()

    async def __call__(self, request: HTTPRequest) -> HTTPResponse:
        asked = _HealthRequest.of(request, self._path)
        checks = self._checks() or {"ping": ping}
        self._known = tuple(checks)
        wanted = asked.wanted(self._known)
        results = await asyncio.gather(*(self._passes(name, checks[name]) for name in wanted))
        return self._answer(asked, dict(zip(wanted, results, strict=True)))

    def last_answer(self, request: HTTPRequest, results: Mapping[str, bool]) -> HTTPResponse:
        """The response without running a check: `results`, and for other checks their last result."""
        asked = _HealthRequest.of(request, self._path)
        wanted = asked.wanted(self._known or tuple(results))
        return self._answer(asked, {name: results.get(name, name not in self._failing) for name in wanted})

    def _answer(self, asked: _HealthRequest, results: Mapping[str, bool]) -> HTTPResponse:
        if not asked.is_read:
            return text_response(405, "method not allowed", ("Allow", "GET, HEAD"))
        passed = all(results.values())
        if asked.check:
            if asked.check not in results:
                return text_response(404, "404 page not found\n")
            return (
                HTTPResponse(200, (("Content-Type", "text/plain; charset=utf-8"),), b"ok")
                if passed
                else text_response(500, f"internal server error: {self._shown(asked.check)}")
            )
        if passed and not asked.verbose:
            return text_response(200, "ok")
        lines = [_line(name, results, self._shown(name)) for name in self._known or results]
        if unknown := sorted(asked.excluded.difference(self._known)):
            quoted = ", ".join(f'"{name[:100]}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        lines.append(f"{self._path.strip('/')} check {'passed' if passed else 'failed'}")
        return text_response(200 if passed else 500, "\n".join(lines) + "\n")

    async def _passes(self, name: str, check: Check) -> bool:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                result = check()
                if inspect.isawaitable(result):
                    result = await result
        except Exception as error:  # every exception of a check is its failure
            state = (type(error), getattr(error, "state", None))
            shown = getattr(error, "public_reason", "") or _WITHHELD
            self._record_failure(name, state, str(error) or type(error).__name__, shown)
            return False
        if result is False:
            self._record_failure(name, False, "the check returned False")
            return False
        self._record_success(name)
        return True

    def _shown(self, name: str) -> str:
        """The reason of a failure as a probe gets it."""
        failure = self._failing.get(name)
        return failure.shown if failure is not None else _WITHHELD

    def _record_failure(self, name: str, state: object, reason: str, shown: str = _WITHHELD) -> None:
        now = asyncio.get_running_loop().time()
        known = self._failing.get(name)
        if known is None or known.state != state:
            log.warning("Health check failed", endpoint=self._path, check=name, error=reason)
            self._failing[name] = _Failure(state, known.since if known is not None else now, shown)

    def _record_success(self, name: str) -> None:
        failure = self._failing.pop(name, None)
        if failure is not None:
            seconds = round(asyncio.get_running_loop().time() - failure.since, 1)
            log.info("Health check passes again", endpoint=self._path, check=name, failed_for_seconds=seconds)


class _HealthRequest(NamedTuple):
    """The parsed request for a health check."""

    is_read: bool
    check: str
    """The check in the path; empty: all."""
    excluded: frozenset[str]
    verbose: bool

    @classmethod
    def of(cls, request: HTTPRequest, path: str) -> _HealthRequest:
        url = urlsplit(request.target)
        options = parse_qs(url.query, keep_blank_values=True, max_num_fields=100)
        check = unquote(url.path.removeprefix(path).strip("/"))
        is_read = request.method in ("GET", "HEAD")
        return cls(is_read, check, frozenset(options.get("exclude", ())), "verbose" in options)

    def wanted(self, names: Sequence[str]) -> list[str]:
        """The checks to run."""
        if not self.is_read:
            return []
        return [name for name in names if (name == self.check if self.check else name not in self.excluded)]


class _Failure(NamedTuple):
    """A failing check: its error, and since when by the loop's time."""

    state: object
    since: float
    shown: str


def text_response(status: int, text: str, *headers: tuple[str, str]) -> HTTPResponse:
    """A short response in plain text."""
    pairs = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"), *headers)
    return HTTPResponse(status, pairs, text.encode())


def _line(name: str, results: Mapping[str, bool], reason: str) -> str:
    if name not in results:
        return f"[+]{name} excluded: ok"
    return f"[+]{name} ok" if results[name] else f"[-]{name} failed: {reason}"
