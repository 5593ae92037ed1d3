"""The line to an app: where it answers now, and that it is that app, before its credential is shown to anybody."""

from __future__ import annotations

from pathlib import Path

from inspan.apps.client import AppClient, AppUnreachable
from inspan.apps.faults import Fault
from inspan.apps.folder import Folder, open_folder
from inspan.apps.ports import base_url_of, who_answers

__all__ = ["AppLine", "LineTrouble"]

AGENT = "agent-app-bridge"
_CALL_S = 5.0


class LineTrouble(Exception):
    """The app is not there; one line for people."""


class AppLine:
    """A client of the app in a folder, wherever it answers: a change of it that is tried, else the app itself.

    Args:
        folder: The app.
    """

    def __init__(self, folder: Folder) -> None:
        self._path: Path = folder.path
        self._id = folder.id
        self._client: AppClient | None = None

    @property
    def client(self) -> AppClient:
        """Speaks to the app that answered last.

        Raises:
            AppUnreachable: It never did.
        """
        if self._client is None:
            raise AppUnreachable("The app has not answered yet.")
        return self._client

    @property
    def base_url(self) -> str:
        """Where it answered last; empty before."""
        return "" if self._client is None else self._client.base_url

    def renew(self, *, signs_in: bool = False) -> None:
        """Looks where the app answers, and whether it is it.

        Args:
            signs_in: Sign in anew, where the app has several users.

        Raises:
            LineTrouble: Nobody answers, or somebody else.
        """
        try:
            folder = open_folder(self._path)
            if folder.id != self._id:
                raise LineTrouble("The folder holds another app now.")
            port = folder.port_in_use()
            found = who_answers(port, timeout_s=_CALL_S)
            if found.kind == "nobody":
                raise LineTrouble(f"The app is not running: nothing listens on port {port}.")
            if found.kind == "stranger":
                raise LineTrouble(f"Port {port} does not answer as an app: it is stuck, or somebody else's.")
            if found.app_id != self._id:
                raise LineTrouble(f"Port {port} is held by somebody else: another app.")
            url = base_url_of(port)
            if self._client is None or self._client.base_url != url or signs_in:
                self.close()
                self._client = _client(folder, url)
        except Fault as fault:
            raise LineTrouble(fault.message) from fault

    def close(self) -> None:
        """Ends its connection. Calling it twice is safe."""
        if self._client is not None:
            self._client.close()


def _client(folder: Folder, url: str) -> AppClient:
    if not folder.is_multi_user:
        return AppClient(url, token=folder.token(), agent=AGENT, timeout_s=_CALL_S)
    from inspan.apps.programs.a2app.session import open_session
    from inspan.apps.programs.targets import Target
    from inspan.apps.registry import a2app_home

    client = open_session(Target(str(folder.path), a2app_home(), folder, None)).client
    client.timeout_s = _CALL_S
    return client
