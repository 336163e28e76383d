"""The server of the page as a runnable of a manager, and the address that is printed for the user."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from pilotage.dashboard.dashboard import Dashboard
from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.handler import PAGE, PageHandler
from pilotage.manager.endpoints.server import Server, ServingCertificate
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.net.sockets import address_text, is_loopback, parse_bind_address

if TYPE_CHECKING:
    from pilotage.http.messages import Handler
    from pilotage.manager.lifecycle import Lifecycle

NAME = "live page"
_TOKEN_BYTES = 24


class PageServer(Server):
    """Serves the page. On a loopback address it has a token of its own; on others, those of the metrics."""

    def __init__(self, manager: Manager, lifecycle: Lifecycle) -> None:
        options = manager.options
        sources = Sources(manager, lifecycle, asyncio.get_running_loop().time)
        self.dashboard = Dashboard(sources)
        bind = parse_bind_address(options.ui_bind_address)
        self._is_local = bind is not None and is_loopback(bind[0])
        self.token = secrets.token_urlsafe(_TOKEN_BYTES) if self._is_local else ""
        handler = PageHandler(
            self.dashboard, self.token, self._hosts, guard=None if self._is_local else _guard(manager, options)
        )
        certificate = None if self._is_local else ServingCertificate(options.metrics_certificates)
        super().__init__(NAME, handler, options.ui_bind_address, certificate=certificate)

    @property
    def url(self) -> str:
        """The address with the token, which is in the fragment: browsers send that to nobody."""
        scheme = "http" if self._is_local else "https"
        fragment = f"#token={self.token}" if self.token else ""
        return f"{scheme}://{address_text(*self.address)}{PAGE}{fragment}"

    def _hosts(self) -> tuple[str, ...]:
        if not self._is_local:
            return ()
        port = self.address[1]
        return tuple(address_text(host, port) for host in {self.address[0], "127.0.0.1", "localhost", "::1"})


def _guard(manager: Manager, options: ManagerOptions) -> Callable[[Handler], Handler]:
    admits = options.metrics_filter
    assert admits is not None  # the options are checked
    return lambda handler: admits(manager.cluster.client, handler)
