"""The feeds of a page, with a hand on what lies before its history."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, WebSocketRoute


class Feeds:
    """The sockets of a page, those for what lies before held back."""

    def __init__(self, passing: str = "") -> None:
        """What lies before is let through up to where it ends with `passing`."""
        self.live = 0  # messages of the live feed
        self.held: list[Callable[[], None]] | None = []
        self._passing = passing

    def route(self, page: Page) -> None:
        page.route_web_socket(re.compile("/trace"), self._pass)

    def _pass(self, socket: WebSocketRoute) -> None:
        socket.connect_to_server().on_message(lambda said: self._take(socket, said))

    def _take(self, socket: WebSocketRoute, said: str | bytes) -> None:
        before = re.search(r"&(to=\d+)", socket.url)
        if before and before[1] != self._passing:
            if self.held is not None:
                self.held.append(lambda: socket.send(said))
                return
        elif not before:
            self.live += 1
        socket.send(said)

    def release(self) -> None:
        held, self.held = self.held or [], None
        for send in held:
            send()
