"""Routes: the ways in which work can reach one harness, and the profile that lists them.

The shapes are those of `harnesses.json`; see `inspan.apps.bridge.harnesses_file` for how a file of them is read.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "MODES",
    "GatewayRoute",
    "HeadlessRoute",
    "InboundRoute",
    "Mode",
    "Profile",
    "Route",
    "SeatRoute",
    "SubscribeRoute",
]

Mode = Literal["inbound", "headless", "gateway", "subscribe"]

MODES: tuple[Mode, ...] = ("inbound", "headless", "gateway", "subscribe")
"""The rungs of the ladder from the deepest down; below them is none at all."""


class InboundRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A harness that listens: each task is handed to it over HTTP, and it reports by itself.

    Attributes:
        url: Where a task goes, http or https.
        method: The method of that request.
        headers: Further headers; they win over ours.
        token_env: The *name* of the variable whose value goes as a bearer token.
        health: What is asked first whether it is up; empty means that it is believed to be.
        allow_remote: The addresses may be other than loopback ones.
    """

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    token_env: str = ""
    health: str = ""
    allow_remote: bool = False

    @property
    def mode(self) -> Mode:
        """The rung."""
        return "inbound"


class SeatRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A running seat of Inspan: each task becomes a prompt of its conversation.

    Attributes:
        seat: The seat's name; empty stands for the one seat of `harness` that works in the app's own folder.
        harness: The id of the harness whose seat it is, where no name is given.
    """

    seat: str = ""
    harness: str = ""

    @property
    def mode(self) -> Mode:
        """The rung."""
        return "inbound"


class HeadlessRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is run once for each task.

    Attributes:
        command: The program: a name on the PATH, or a path.
        args: Its arguments; `{prompt}` in any of them is the whole prompt, `{session}` a fresh random UUID where
            `makes_session`.
        input: Whether the prompt is an argument, or comes on standard input, which then ends.
        cwd: `app` for the app's folder, or another folder.
        timeout_ms: Milliseconds that one task may take; the bridge's own limit where there is none.
        env: Names of further variables that the program inherits; a trailing `*` matches a prefix.
        sets: Variables that it is given.
        makes_session: `{session}` is replaced as well. Only of profiles that come from a manifest.
        grant: What the arguments let it do unasked: our program alone, the whole sandbox, everything; empty where
            nobody knows.
        missing: Why its program cannot be run, where that is known already.
    """

    command: str
    args: tuple[str, ...]
    input: Literal["arg", "stdin"] = "arg"
    cwd: str = "app"
    timeout_ms: int | None = None
    env: tuple[str, ...] = ()
    sets: dict[str, str] = {}
    makes_session: bool = False
    grant: str = ""
    missing: str = ""

    @property
    def mode(self) -> Mode:
        """The rung."""
        return "headless"

    @property
    def stands_in_app(self) -> bool:
        """Whether the program's working folder is the app's."""
        return self.cwd == "app"


class GatewayRoute(msgspec.Struct, frozen=True, kw_only=True):
    """As an inbound one, for a harness that the bridge may start.

    Attributes:
        url: Where a task goes.
        start: The command that starts it, read by a shell: the operator wrote it.
        health: What is asked whether it is up.
        ready_ms: Milliseconds that it may take to be up.
        env: Names of further variables that it is started with; a trailing `*` matches a prefix.
        method: As in `InboundRoute`, and so are the fields below.
    """

    url: str
    start: str
    health: str
    ready_ms: int = 20_000
    env: tuple[str, ...] = ()
    method: str = "POST"
    headers: dict[str, str] = {}
    token_env: str = ""
    allow_remote: bool = False

    @property
    def mode(self) -> Mode:
        """The rung."""
        return "gateway"


class SubscribeRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A harness that fetches work by itself: nothing is delivered.

    Attributes:
        hint: How to make it listen.
    """

    hint: str = ""

    @property
    def mode(self) -> Mode:
        """The rung."""
        return "subscribe"


Route = InboundRoute | SeatRoute | HeadlessRoute | GatewayRoute | SubscribeRoute


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One harness that work can be taken to.

    Attributes:
        id: The name by which it is chosen.
        name: For people.
        routes: Its routes, in the order in which they were written down; never empty.
        also_called: Other names by which it is found.
        origin: `built-in` where it comes from a manifest, `file` where somebody wrote it.
    """

    id: str
    name: str
    routes: tuple[Route, ...]
    also_called: tuple[str, ...] = ()
    origin: Literal["built-in", "file", "seat"] = "file"
