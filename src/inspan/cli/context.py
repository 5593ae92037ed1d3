"""What a command works with: the output, the home, and calls to the daemon, which starts when it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable

from inspan.home import Home, locate_home, prepare_home
from inspan.model.errors import HostError, UsageError

from .fields import Json, record, records
from .output import Output
from .stream import EventStream
from .wire import CALL_TIMEOUT_S, Connection, call, connect, quote, target

__all__ = ["Context", "at"]

_STOPPING_PATIENCE_S = 15.0
_LOOK_AGAIN_S = 0.1


class Context:
    """One run of the program.

    Attributes:
        output: Where to write.
        home: The home.
    """

    def __init__(self, *, output: Output, home: str | None = None):
        if home == "":
            raise UsageError("The home has no name.", hint="Give it as --home DIR.")
        self.output = output
        self.home: Home = locate_home(home)

    def get(self, path: str, **query: object) -> object:
        """Reads `path`; the daemon is started where none runs."""
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, object] | None = None,
        body: object = None,
        headers: dict[str, str] | None = None,
        is_starting: bool = True,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> object:
        """Makes one request.

        Args:
            method: The HTTP method.
            path: The path, quoted (see `at`).
            query: Values of the query; those that are `None` are left out.
            body: The JSON value to send; bytes go as they are.
            headers: Further headers of the request.
            is_starting: Whether a daemon may be started for it.
            timeout_s: How long the answer may take.

        Raises:
            InspanError: What the daemon answered, or `daemon_unreachable`.
        """
        deadline = time.monotonic() + _STOPPING_PATIENCE_S
        while True:
            connection = self.connect() if is_starting else self.connect_running()
            try:
                return call(
                    connection, method, target(path, query), body=body, headers=headers, timeout_s=timeout_s
                )
            except HostError as error:
                # A daemon on its way out has done nothing with the request; the next one will.
                if error.code != "daemon_stopping" or not is_starting or time.monotonic() > deadline:
                    raise
            time.sleep(_LOOK_AGAIN_S)

    def connect(self) -> Connection:
        """A connection to the daemon, which is started where none runs."""
        try:
            return connect(self._socket())
        except OSError:
            self.revive()
        try:
            return connect(self._socket())
        except OSError as error:
            raise self._unreachable(error) from error

    def connect_running(self) -> Connection:
        """A connection to a daemon that runs already.

        Raises:
            HostError: `daemon_unreachable`.
        """
        try:
            return connect(self._socket())
        except OSError as error:
            raise self._unreachable(error) from error

    def revive(self) -> None:
        """Starts the daemon and waits until it serves; does nothing where one does."""
        from inspan.client.autostart import ensure_daemon

        # A home that cannot be used is named as such, before anybody tries its socket.
        ensure_daemon(prepare_home(self.home))

    def status(self) -> Json:
        """The daemon's status; it is started where none runs."""
        return record(self.get("/v1/status"))

    def seat(self, name: str) -> Json:
        """One seat's view. Raises `unknown_seat`."""
        return record(self.get(at("seats", name)))

    def seats(self) -> list[Json]:
        """All seats' views."""
        return records(self.get("/v1/seats"))

    def harnesses(self) -> list[Json]:
        """All harnesses' views."""
        return records(self.get("/v1/harnesses"))

    def stream(
        self,
        *,
        seat: str | None = None,
        after: int,
        types: str | None = None,
        is_reviving: bool = False,
        on_gap: Callable[[str], None] | None = None,
    ) -> EventStream:
        """All events after a position, across restarts of the daemon (see `EventStream`)."""
        return EventStream(
            lambda: connect(self._socket()),
            revive=self.revive if is_reviving else None,
            seat=seat,
            after=after,
            types=types,
            on_gap=on_gap,
        )

    def _socket(self) -> str:
        return str(self.home.socket)

    def _unreachable(self, error: OSError) -> HostError:
        absent = isinstance(error, FileNotFoundError | ConnectionRefusedError)
        return HostError(
            f"No daemon runs on {self.home.path}."
            if absent
            else f"The daemon on {self.home.path} cannot be reached: {error.strerror or error}.",
            code="daemon_unreachable",
            hint="Start it with `inspan daemon start`." if absent else "Run `inspan doctor`.",
        )


def at(*parts: str) -> str:
    """The path below `/v1` of `parts`, each quoted."""
    return "/v1/" + "/".join(map(quote, parts))
