"""Health checks over HTTP: one answer for all of them, and one for each."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from pilotage.http.messages import Request, Response
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")

Check = Callable[[], Awaitable[object] | object]
"""A health check, async or not. It fails by raising, or by giving False."""

CHECK_SECONDS = 5.0
"""How long one check may take."""


def ping() -> None:
    """The check that always holds."""


class HealthHandler:
    """Answers below one path: `/healthz` for all checks, `/healthz/NAME` for one.

    200 if all hold, else 500. `?verbose` lists them; a failure always does. Why a check failed is not in the answer. It
    is logged when the check begins to fail, and again when another error takes its place: one of another class, or with
    another `state`. `?exclude=NAME` leaves a check out; `exclude` of a name that is not there does no harm.
    """

    def __init__(self, path: str, checks: Callable[[], Mapping[str, Check]]) -> None:
        self._path = path
        self._checks = checks
        self._failing: dict[str, _Failure] = {}
        self._known: tuple[str, ...] = ()

    async def __call__(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return self._answer(request, {})
        checks = self._checks() or {"ping": ping}
        self._known = tuple(checks)
        wanted = [name for name in checks if self._wants(request, name)]
        results = await asyncio.gather(*(self._holds(name, checks[name]) for name in wanted))
        return self._answer(request, dict(zip(wanted, results, strict=True)))

    def last_answer(self, request: Request, results: Mapping[str, bool]) -> Response:
        """The answer without running any check: those in `results` as they are there, the others as they were last."""
        known = {name: results.get(name, name not in self._failing) for name in self._known or (*results,)}
        return self._answer(request, {name: known[name] for name in known if self._wants(request, name)})

    def _wants(self, request: Request, name: str) -> bool:
        url = urlsplit(request.target)
        one = self._one(url.path)
        return name == one if one else name not in _options(url.query).get("exclude", ())

    def _one(self, path: str) -> str:
        """The check that a path names; empty where it means all."""
        return unquote(path.removeprefix(self._path).strip("/"))

    def _answer(self, request: Request, results: Mapping[str, bool]) -> Response:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "method not allowed", ("Allow", "GET, HEAD"))
        url = urlsplit(request.target)
        if one := self._one(url.path):
            if one not in results:
                return text_response(404, "404 page not found")
            return text_response(200, "ok") if results[one] else text_response(500, _WITHHELD)
        passed, options = all(results.values()), _options(url.query)
        if passed and "verbose" not in options:
            return text_response(200, "ok")
        lines = [_line(name, results) for name in self._known or results]
        if unknown := sorted(set(options.get("exclude", ())) - set(self._known)):
            quoted = ", ".join(f'"{name[:100]}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
        lines.append(f"{self._path.strip('/')} check {'passed' if passed else 'failed'}")
        return text_response(200 if passed else 500, "\n".join(lines) + "\n")

    async def _holds(self, name: str, check: Check) -> bool:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                result = check()
                if inspect.isawaitable(result):
                    result = await result
        except Exception as error:  # whatever a check raises means that it failed
            state = (type(error), getattr(error, "state", None))
            self._failed(name, state, str(error) or type(error).__name__)
            return False
        if result is False:
            self._failed(name, False, "the check returned False")
            return False
        self._passed(name)
        return True

    def _failed(self, name: str, state: object, reason: str) -> None:
        now = asyncio.get_running_loop().time()
        known = self._failing.get(name)
        if known is None or known.state != state:
            log.warning("Health check failed", endpoint=self._path, check=name, error=reason)
            self._failing[name] = _Failure(state, known.since if known is not None else now)

    def _passed(self, name: str) -> None:
        failure = self._failing.pop(name, None)
        if failure is not None:
            seconds = round(asyncio.get_running_loop().time() - failure.since, 1)
            log.info("Health check passes again", endpoint=self._path, check=name, failed_for_seconds=seconds)


_WITHHELD = "internal server error: reason withheld"


def _options(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True, max_num_fields=100)


class _Failure(NamedTuple):
    """A check that fails: how, and since when by the loop's time."""

    state: object
    since: float


def text_response(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """A short answer in plain text."""
    pairs = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"), *headers)
    return Response(status, pairs, text.encode())


def _line(name: str, results: Mapping[str, bool]) -> str:
    if name not in results:
        return f"[+]{name} excluded: ok"
    return f"[+]{name} ok" if results[name] else f"[-]{name} failed: reason withheld"
