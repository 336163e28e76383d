"""The server of the page as a runnable of a manager, and the address that is printed for the user."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from pilotage.dashboard.dashboard import Dashboard
from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.handler import PAGE, DataHandler, PageHandler
from pilotage.manager.endpoints.server import Server, ServingCertificate
from pilotage.manager.manager import Manager
from pilotage.net.sockets import address_text, is_loopback, parse_bind_address

if TYPE_CHECKING:
    from pilotage.http.messages import Handler
    from pilotage.manager.lifecycle import Lifecycle

NAME = "live page"
_TOKEN_BYTES = 24


def data_handler(manager: Manager, lifecycle: Lifecycle) -> DataHandler:
    """The data of the page of a manager, without a check of who may read it."""
    return DataHandler(Dashboard(Sources(manager, lifecycle, asyncio.get_running_loop().time)))


class PageServer(Server):
    """Serves the page. On a loopback address it has a token of its own; on others `guard` decides who may read the
    data, and it is served over TLS."""

    def __init__(
        self,
        data: Handler,
        bind_address: str,
        guard: Callable[[Handler], Handler] | None = None,
        certificate: ServingCertificate | None = None,
    ) -> None:
        bind = parse_bind_address(bind_address)
        self._is_local = bind is not None and is_loopback(bind[0])
        self.token = secrets.token_urlsafe(_TOKEN_BYTES) if self._is_local else ""
        if not self._is_local:
            assert guard is not None  # the options are checked
            data = guard(data)
        super().__init__(NAME, PageHandler(data, self.token, self._hosts), bind_address, certificate=certificate)

    @property
    def url(self) -> str:
        """The address with the token, which is in the fragment: browsers do not send it."""
        scheme = "http" if self._is_local else "https"
        fragment = f"#token={self.token}" if self.token else ""
        return f"{scheme}://{address_text(*self.address)}{PAGE}{fragment}"

    def _hosts(self) -> tuple[str, ...]:
        if not self._is_local:
            return ()
        port = self.address[1]
        return tuple(address_text(host, port) for host in {self.address[0], "127.0.0.1", "localhost", "::1"})


def page_server(manager: Manager, data: Handler) -> PageServer:
    """The server of a manager's page, by its options."""
    options = manager.options
    admits = options.metrics_filter
    guard = None if admits is None else lambda handler: admits(manager.cluster.client, handler)
    bind = parse_bind_address(options.ui_bind_address)
    is_local = bind is not None and is_loopback(bind[0])
    certificate = None if is_local else ServingCertificate(options.metrics_certificates)
    return PageServer(data, options.ui_bind_address, guard, certificate)
